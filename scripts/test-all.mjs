// `npm run test:all`: `npm test`, then what takes longer: every race and rush of the demo, the long
// drills, MySQL beside MariaDB, newer servers, k6, benchmarks, and every mutant of the final rung.
// It stops after `npm test` when that fails. Its last line counts the tests of all parts:
// `N passed, N failed`. Built-ins only: `npm test` does the set-up.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import './on-node.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const countsFile = fileURLToPath(new URL('../runs/tests/counts.json', import.meta.url));
const vitest = (...args) => [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...args];
const setup = [
  ...[process.execPath, 'scripts/setup.mjs'],
  ...['--with-k6', '--with-mysql', '--with-redis', '--with-nginx', '--with-prometheus'],
];

const parts = [
  { name: 'npm test', command: ['npm', 'test'], counts: true },
  { name: 'set-up of k6 and newer servers', command: setup },
  { name: 'the long tests', command: vitest('--project', 'long*'), counts: true },
];

/** Of the tests that a part has run; a part that was killed has written none. */
function readCounts() {
  try {
    return JSON.parse(readFileSync(countsFile, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

function play({ name, command: [program, ...args], counts }) {
  console.log(`\n=== ${name}\n`);
  rmSync(countsFile, { force: true });
  const startedAt = Date.now();
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  const minutes = (Date.now() - startedAt) / 60_000;
  return { name, status: status ?? 130, minutes, ...(counts && readCounts()) };
}

const results = [];
for (const part of parts) {
  const result = play(part);
  results.push(result);
  if (result.status !== 0 && (part === parts[0] || result.status === 130)) break;
}

console.log('\n=== all parts\n');
for (const { name, status, minutes } of results)
  console.log(`${name}: ${status === 0 ? 'passed' : 'FAILED'}, ${minutes.toFixed(1)} min`);
for (const { name } of parts.slice(results.length)) console.log(`${name}: NOT RUN`);
const sum = (kind) => results.reduce((total, result) => total + (result[kind] ?? 0), 0);
const isGood = results.length === parts.length && results.every(({ status }) => status === 0);
const failed = Math.max(sum('failed'), isGood ? 0 : 1);
const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
console.log(`\n${sum('passed')} passed, ${failed} failed${skipped}`);
process.exit(isGood ? 0 : 1);
