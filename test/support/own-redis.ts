/**
 * A Redis of a test's own, on loopback, that can be paused, or killed and started again with its
 * data.
 */
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { isAlive, type ProcessRef } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { redisAnswers, redisServer } from '../../src/lab/environment/servers/redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { newDataFolder } from './data-home.ts';
import { ownPorts } from './own-ports.ts';

export interface OwnRedis {
  readonly url: string;
  start(): Promise<void>;
  /** With SIGKILL. */
  kill(): Promise<void>;
  /** With SIGSTOP: its connections stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
}

/**
 * @param more settings, such as `replicaof`.
 * @param isReady of the Redis on this port, where nobody may ask without a password.
 */
export async function startOwnRedis(
  more: Readonly<Record<string, string>> = {},
  isReady = redisAnswers,
): Promise<OwnRedis> {
  const folder = newDataFolder();
  const port = await ownPorts(19_300);
  const server = redisServer('own', folder, port, 'always', more);
  await server.prepare?.();
  let ref: ProcessRef | undefined;
  const start = async () => {
    ref = startProcess(server.program());
    await waitUntil('a Redis of its own', 10_000, () => isReady(port));
  };
  const kill = async () => {
    const killed = ref;
    if (!killed) return;
    process.kill(killed.pid, 'SIGKILL');
    await waitUntil('Redis to end', 5_000, () => !isAlive(killed));
  };
  const signal = (name: NodeJS.Signals) => void (ref && process.kill(ref.pid, name));
  onTestFinished(async () => {
    if (ref && isAlive(ref)) await stopProcess(ref);
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    kill,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}
