/** JVMs with a real Redisson, for the lock storm. */
import type { Kind, StormKey } from '../../src/lab/lock-storm/kinds.ts';
import { stormKeys } from '../../src/lab/lock-storm/kinds.ts';
import { times } from '../../src/lab/lock-storm/plan.ts';

/** Where JVMs use `tryLock(wait, unit)` on a fair lock: see docs/redisson.md. */
const shortTurns: StormKey = {
  rung: 'redis-fair',
  key: 'redis-fair-short-turns',
  arrival: 'crowd',
  hasShortTurns: true,
};
export const stormKeysBesideRedisson: readonly StormKey[] = [...stormKeys, shortTurns];

/** How the threads of a JVM ask for a key. */
function threads({ rung, arrival, hasShortTurns }: StormKey): string[] {
  if (hasShortTurns) return ['lock', 'tryLock-seconds', 'tryLock-milliseconds'];
  if (arrival === 'bell') return ['lock'];
  return rung === 'redis-fair' ? ['lock', 'lock'] : ['lock', 'lock', 'tryLock-seconds'];
}

const starves = ({ hasShortTurns }: StormKey, style: string): boolean =>
  hasShortTurns === true && style !== 'lock';

/** `classPath` has Redisson and the compiled StormContender. */
export function jvms(count: number, keys: readonly StormKey[], classPath: string): Kind {
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
