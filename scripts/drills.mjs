// The long form of every proof, one step after the other, in about an hour and a half.
// Usage: node scripts/drills.mjs [WORD]     only the steps with this word in their name
//
// A step that fails does not stop the others. Exit code: 1 when a step was not as expected, else 2
// when one could not tell, else 0.
import { spawnSync } from 'node:child_process';

const lockstep = (...args) => [process.execPath, ['dist/bin/lockstep.js', ...args]];
const vitest = (...args) => [process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args]];
const storm = (seed) => lockstep('drill', 'kill-storm', '--minutes', '3', '--seed', String(seed));
const stopMasters = (seed) =>
  lockstep('drill', 'stop-masters', '--minutes', '3', '--seed', String(seed));

const steps = [
  ['every rung, and every race on every rung', lockstep('demo', '--full')],
  ['every rung on MySQL', lockstep('demo', '--database', 'mysql')],
  ...[1, 2, 3, 4, 5].map((seed) => [`kill-storm, seed ${seed}`, storm(seed)]),
  ...[1, 2, 3].map((seed) => [`stop-masters, seed ${seed}`, stopMasters(seed)]),
  ['lock storm', vitest('--project', 'real servers', 'lock-storm'), { LOCK_STORM_MINUTES: '3' }],
  ['mutants of the locks', vitest('--config', 'test/mutants/vitest.config.ts')],
  ['containers', [process.execPath, ['scripts/try-compose.mjs', '--where-possible']]],
];

const word = process.argv[2] ?? '';
const chosen = steps.filter(([name]) => name.includes(word));
const results = chosen.map(([name, [program, args], env = {}]) => {
  console.log(`\n=== ${name}\n`);
  const startedAt = Date.now();
  const { status } = spawnSync(program, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return { name, status: status ?? 130, minutes: (Date.now() - startedAt) / 60_000 };
});

const words = { 0: 'as expected', 2: 'could not tell', 130: 'interrupted' };
console.log('\n=== all steps\n');
for (const { name, status, minutes } of results)
  console.log(
    `${name}: ${words[status] ?? 'NOT AS EXPECTED'} (exit code ${status}, ${minutes.toFixed(1)} min)`,
  );
const isAll = (...allowed) => results.every(({ status }) => allowed.includes(status));
if (chosen.length === 0) console.error(`no step has "${word}" in its name`);
process.exit(chosen.length === 0 || !isAll(0, 2) ? 1 : isAll(0) ? 0 : 2);
