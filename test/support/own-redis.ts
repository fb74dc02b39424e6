/** A Redis of a test's own, on loopback, that can be killed and started again with its data. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { isAlive, type ProcessRef } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';

export interface OwnRedis {
  readonly url: string;
  start(): Promise<void>;
  /** With SIGKILL. */
  kill(): Promise<void>;
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-redis-'));
  const port = await freePorts(17_300);
  const server = redisServer('own', folder, port, 'always');
  await server.prepare?.();
  let ref: ProcessRef | undefined;
  const start = async () => {
    ref = startProcess(server.program());
    await waitUntil('a Redis of its own', 10_000, server.answers);
  };
  const kill = async () => {
    const killed = ref;
    if (!killed) return;
    process.kill(killed.pid, 'SIGKILL');
    await waitUntil('Redis to end', 5_000, () => !isAlive(killed));
  };
  onTestFinished(async () => {
    if (ref && isAlive(ref)) await stopProcess(ref);
    rmSync(folder, { recursive: true, force: true });
  });
  await start();
  return { url: `redis://127.0.0.1:${port}`, start, kill };
}
