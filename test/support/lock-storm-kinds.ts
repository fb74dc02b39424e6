/** What contends in a lock storm, and for what. */
import type { Kind, StormKey } from './lock-storm.ts';
import { times } from './lock-storm-plan.ts';
import { ownLab } from './own-lab.ts';

const rungs = ['redis-reentrant', 'redis-fair'] as const;

export const stormKeys: readonly StormKey[] = rungs.flatMap((rung) => [
  { rung, key: `${rung}-crowd`, arrival: 'crowd' },
  { rung, key: `${rung}-bell`, arrival: 'bell' },
  { rung, key: `${rung}-second-bell`, arrival: 'bell' },
]);

/** Where JVMs use `tryLock(wait, unit)` on a fair lock: see docs/redisson.md. */
const shortTurns: StormKey = {
  rung: 'redis-fair',
  key: 'redis-fair-short-turns',
  arrival: 'crowd',
  hasShortTurns: true,
};
export const stormKeysBesideRedisson: readonly StormKey[] = [...stormKeys, shortTurns];

const contender = new URL('lock-storm-contender.mjs', import.meta.url).pathname;

/** Processes with our locks: in each, several async owners of each key. */
export function node(count: number, keys: readonly StormKey[]): Kind {
  const withLanes = keys.map((key) => ({ ...key, lanes: key.arrival === 'crowd' ? 3 : 1 }));
  return {
    kind: 'node',
    count,
    lanes: withLanes.flatMap(({ key, lanes }) =>
      Array.from({ length: lanes }, (_, number) => `${key} ${number}`),
    ),
    program: ({ redisUrl, ...task }) => ({
      file: process.execPath,
      args: [
        contender,
        JSON.stringify({ ...task, leaseMs: times.lease, bellMs: times.bell, keys: withLanes }),
      ],
      env: {
        ...ownLab.environment,
        REDIS_URL: redisUrl,
        LOCK_WATCHDOG_MS: String(times.lease),
        LOCK_ANSWER_MS: String(times.answer),
      },
    }),
  };
}

/** How the threads of a JVM ask for a key. */
function threads({ rung, arrival, hasShortTurns }: StormKey): string[] {
  if (hasShortTurns) return ['lock', 'tryLock-seconds', 'tryLock-milliseconds'];
  if (arrival === 'bell') return ['lock'];
  return rung === 'redis-fair' ? ['lock', 'lock'] : ['lock', 'lock', 'tryLock-seconds'];
}

const starves = ({ hasShortTurns }: StormKey, style: string): boolean =>
  hasShortTurns === true && style !== 'lock';

/** JVMs with a real Redisson. `classPath` has it and the compiled StormContender. */
export function jvm(count: number, keys: readonly StormKey[], classPath: string): Kind {
  const withThreads = keys.map((key) => ({ key, styles: threads(key) }));
  return {
    kind: 'jvm',
    count,
    lanes: withThreads.flatMap(({ key, styles }) =>
      styles.flatMap((style, number) => (starves(key, style) ? [] : [`${key.key} ${number}`])),
    ),
    program: ({ name, seed, folder, redisUrl }) => ({
      file: 'java',
      args: [
        ...['-XX:TieredStopAtLevel=1', '-cp', classPath, 'StormContender', name, String(seed)],
        ...[folder, redisUrl, String(times.lease), String(times.bell)],
        ...withThreads.map(({ key: { key, rung, arrival }, styles }) =>
          [key, rung, arrival, styles.join(',')].join('/'),
        ),
      ],
      env: {},
    }),
  };
}
