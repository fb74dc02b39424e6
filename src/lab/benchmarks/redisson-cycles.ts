/**
 * A real Redisson client beside the locks of the ladder: a JVM that acquires and releases
 * `redisson.getLock` again and again, on the same Redis and in the same rounds.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LockstepError } from '../../service/errors.ts';
import { programPath } from '../environment/processes.ts';
import { labError } from '../errors.ts';

export const redissonLock = 'Redisson (getLock)';

export interface Redisson {
  readonly pid: number;
  /** Cycles of acquire and release for so long. @throws REDISSON_ENDED */
  repeat(lock: string, forMs: number): Promise<{ cyclesPerSecond: number; p99Ms: number }>;
  close(): void;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const jars = `${root}.lockstep/redisson`;
const program = `${root}bench/RedissonCycles.java`;

/** What is missing for it, and where to get it; null when nothing is. */
export function missingForRedisson(): string | null {
  try {
    programPath('javac'); // Java compiles the program itself, for which it needs a JDK.
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return 'a JDK 17 or later';
  }
  if (existsSync(jars) && readdirSync(jars).length > 0) return null;
  return `its jars: mvn -f test/redisson/pom.xml dependency:copy-dependencies -DoutputDirectory=${jars}`;
}

/** @throws REDISSON_ENDED when it cannot reach the Redis. */
export async function openRedisson(redisUrl: string): Promise<Redisson> {
  const child = spawn(programPath('java'), ['-cp', `${jars}/*`, program, redisUrl], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const next = lineReader(child);
  await next();
  if (child.pid === undefined) throw labError('REDISSON_ENDED');
  return {
    pid: child.pid,
    repeat: async (lock, forMs) => {
      child.stdin.write(`${lock} ${forMs}\n`);
      const [cycles = 0, nanoseconds = 0, p99 = 0] = (await next()).split(' ').map(Number);
      const cyclesPerSecond = Math.round(cycles / (nanoseconds / 1e9));
      return { cyclesPerSecond, p99Ms: Math.round(p99 / 10_000) / 100 };
    },
    close: () => void child.kill('SIGKILL'),
  };
}

function lineReader(child: ChildProcess): () => Promise<string> {
  if (!child.stdout) throw labError('REDISSON_ENDED');
  const lines = createInterface(child.stdout);
  const ended = once(lines, 'close').then(() => null);
  return async () => {
    const line = await Promise.race([once(lines, 'line'), ended]);
    if (line === null) throw labError('REDISSON_ENDED');
    return String(line[0]);
  };
}
