// Every exercise and every bug hunt: as it begins it must be red, and with its solution green.
// Usage: node scripts/check-workshop.mjs [WORD]     only those with this word in their name
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exerciseNames, hunts } from '../dist/lab/workshop/exercises.js';
import './on-node.mjs';

const home = mkdtempSync(join(tmpdir(), 'lockstep-workshop-'));
const env = { ...process.env, LOCKSTEP_WORKSHOP: home, LOCKSTEP_RUNS: join(home, 'runs') };
const lockstep = (...words) =>
  spawnSync(process.execPath, ['dist/cli/lockstep.js', ...words], { stdio: 'inherit', env }).status;

const tasks = [
  ...exerciseNames.map((name) => ['exercise', name]),
  ...hunts.map((_, index) => ['hunt-bug', String(index + 1)]),
].filter((words) => words.join(' ').includes(process.argv[2] ?? ''));

function check(words, ...more) {
  lockstep(...words, ...more);
  return lockstep('verify', 'mine');
}

let isWrong = tasks.length === 0;
for (const words of tasks) {
  const [begun, solved] = [check(words), check(words, '--solution')];
  const isRight = begun === 1 && solved === 0;
  isWrong ||= !isRight;
  console.log(`\n${isRight ? '✓' : '✗'} ${words.join(' ')}: begun ${begun}, solved ${solved}\n`);
}
rmSync(home, { recursive: true, force: true });
process.exit(isWrong ? 1 : 0);
