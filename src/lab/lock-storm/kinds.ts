/** What contends in a lock storm, and for what. */
import { fileURLToPath } from 'node:url';
import type { Program } from './contender-process.ts';
import { times } from './plan.ts';

/** A crowd asks all the time; the lanes of a bell ask together, one in each process. */
export interface StormKey {
  readonly key: string;
  readonly rung: 'redis-reentrant' | 'redis-fair';
  readonly arrival: 'crowd' | 'bell';
  /** In the line of a fair lock, some turns are shorter than others: its waiters may sleep. */
  readonly hasShortTurns?: true;
}

/** A key, and how many lanes of this process want it. */
export interface LanesOfKey extends StormKey {
  readonly lanes: number;
}

/** The argument of contender.ts. */
export interface ContenderTask {
  readonly name: string;
  readonly seed: number;
  readonly folder: string;
  readonly leaseMs: number;
  readonly bellMs: number;
  readonly keys: readonly LanesOfKey[];
}

/** What a contender is told; `seed` is its own. */
export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly folder: string;
  readonly redisUrl: string;
  /** The settings of the lab. */
  readonly environment: Readonly<Record<string, string>>;
}

/** So many processes of one program. */
export interface Kind {
  readonly kind: string;
  readonly count: number;
  program(task: Task): Program;
  /** The lanes that must make progress, as a contender names them: key and number. */
  readonly lanes: readonly string[];
}

const rungs = ['redis-reentrant', 'redis-fair'] as const;

export const stormKeys: readonly StormKey[] = rungs.flatMap((rung) => [
  { rung, key: `${rung}-crowd`, arrival: 'crowd' },
  { rung, key: `${rung}-bell`, arrival: 'bell' },
  { rung, key: `${rung}-second-bell`, arrival: 'bell' },
]);

/** Compiled: a process cannot run TypeScript. */
const contender = fileURLToPath(
  new URL('../../../dist/lab/lock-storm/contender.js', import.meta.url),
);

/** Processes with our locks: in each, several async owners of each key. */
export function ourContenders(count: number, wanted: readonly StormKey[]): Kind {
  const keys: LanesOfKey[] = wanted.map((key) => ({
    ...key,
    lanes: key.arrival === 'crowd' ? 3 : 1,
  }));
  return {
    kind: 'node',
    count,
    lanes: keys.flatMap(({ key, lanes }) =>
      Array.from({ length: lanes }, (_, number) => `${key} ${number}`),
    ),
    program: ({ redisUrl, environment, ...own }) => {
      const task: ContenderTask = { ...own, leaseMs: times.lease, bellMs: times.bell, keys };
      return {
        file: process.execPath,
        args: [contender, JSON.stringify(task)],
        env: {
          ...environment,
          REDIS_URL: redisUrl,
          LOCK_WATCHDOG_MS: String(times.lease),
          LOCK_ANSWER_MS: String(times.answer),
        },
      };
    },
  };
}
