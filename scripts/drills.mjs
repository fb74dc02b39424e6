// The long form of every proof, one step after the other, in about four hours.
// Usage: node scripts/drills.mjs [WORD]     only the steps with this word in their name
//
// A step that fails does not stop the others. Exit code: 1 when a step was not as expected, else 2
// when one could not tell, else 0.
import { spawnSync } from 'node:child_process';
import './on-node.mjs';

const lockstep = (...args) => [process.execPath, ['dist/cli/lockstep.js', ...args]];
const vitest = (...args) => [process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args]];
const storm = (seed) => lockstep('drill', 'kill-storm', '--minutes', '3', '--seed', String(seed));
const soak = (seed) => lockstep('soak', '--minutes', '10', '--gate', '--seed', String(seed));
const stopMasters = (seed) =>
  lockstep('drill', 'stop-masters', '--minutes', '3', '--seed', String(seed));
const races = [
  ...['stale-promotion', 'paused-holder', 'restart-empty', 'zookeeper-session'],
  ...['slow-masters', 'long-sale', 'script-flush', 'hung-master'],
];
const notConsuming = (seed) =>
  lockstep('drill', 'alive-not-consuming', '--minutes', '1', '--seed', String(seed));

const steps = [
  ['every rung, and every race on every rung', lockstep('demo', '--full')],
  ['every rung on MySQL', lockstep('demo', '--database', 'mysql')],
  ...[1, 2, 3, 4, 5].map((seed) => [`kill-storm, seed ${seed}`, storm(seed)]),
  ...[1, 2, 3, 4, 5].map((seed) => [`soak, seed ${seed}`, soak(seed)]),
  ...[1, 2, 3].map((seed) => [`stop-masters, seed ${seed}`, stopMasters(seed)]),
  ...races.map((name) => [
    `${name}, 20 times`,
    lockstep('drill', name, '--minutes', '0.1', '--times', '20'),
  ]),
  ['scoreboard of the locks', lockstep('scoreboard')],
  ...[1, 2, 3].map((seed) => [`alive-not-consuming, seed ${seed}`, notConsuming(seed)]),
  ['accepted is not sold, 3 times', lockstep('drill', 'accepted-is-not-sold', '--times', '3')],
  ['durability, 3 times', lockstep('drill', 'durability', '--times', '3')],
  ...['mysql-away', 'mysql-read-only', 'mysql-full', 'redis-full', 'paused-failover'].map(
    (name) => [`${name}, 3 times`, lockstep('drill', name, '--times', '3')],
  ),
  ['changed sale, 20 times', lockstep('drill', 'changed-sale', '--times', '20')],
  ['waiting room, 20 times', lockstep('drill', 'waiting-room', '--times', '20')],
  ['flood, 20 times', lockstep('drill', 'flood', '--times', '20')],
  ['hot voucher, 20 times', lockstep('drill', 'hot-voucher', '--times', '20')],
  ['workers scale out, 20 times', lockstep('drill', 'workers-scale-out', '--times', '20')],
  ['flush during rush, 20 times', lockstep('drill', 'flush-during-rush', '--times', '20')],
  ['k6 failover', lockstep('drill', 'k6-failover', '--minutes', '3')],
  ['lock storm', lockstep('drill', 'lock-storm', '--minutes', '3', '--seed', '7')],
  [
    'lock storm beside Redisson',
    vitest('--project', 'long', 'lock-storm'),
    { LOCK_STORM_MINUTES: '3' },
  ],
  ['exercises and bug hunts, begun and solved', [process.execPath, ['scripts/check-workshop.mjs']]],
  ['commands of the pages', [process.execPath, ['scripts/check-pages.mjs']]],
  ['conformance of the locks', [process.execPath, ['scripts/conformance.mjs']]],
  ['mutants of the locks', vitest('--project', 'mutants')],
  ['mutants of the final rung, 3 times', lockstep('mutants', '--times', '3')],
  ['what the description allows, and what not', [process.execPath, ['scripts/schemathesis.mjs']]],
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
