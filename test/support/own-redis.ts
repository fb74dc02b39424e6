/**
 * A Redis of a test's own, on loopback, that can be paused, or killed and started again with its
 * data.
 */
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../src/lab/environment/process-table.ts';
import {
  killWithChildren,
  signalProcess,
  startProcess,
  stopProcess,
} from '../../src/lab/environment/processes.ts';
import { redisAnswers, redisServer } from '../../src/lab/environment/servers/redis.ts';
import type { Server } from '../../src/lab/environment/servers/server.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { newDataFolder } from './data-home.ts';
import { ownPorts } from './own-ports.ts';

export interface OwnServer {
  readonly port: number;
  start(): Promise<void>;
  /** With SIGKILL. */
  kill(): Promise<void>;
  /** With SIGSTOP: its connections stay open, and nothing is answered. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export interface OwnRedis extends OwnServer {
  readonly url: string;
}

/** @param answers when it has started */
export function ownServer(server: Server, answers = server.answers): OwnServer {
  let ref: ProcessRef | undefined;
  const signal = (name: NodeJS.Signals) => ref && signalProcess(ref, name);
  return {
    port: server.port,
    start: async () => {
      await server.prepare?.();
      ref = startProcess(server.program());
      await waitUntil(`${server.name} of a test's own`, 20_000, answers);
    },
    kill: async () => ref && killWithChildren(ref),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    stop: async () => ref && stopProcess(ref),
  };
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
  const server = redisServer('redis', folder, port, 'always', more);
  const own = ownServer(server, () => isReady(port));
  onTestFinished(async () => {
    await own.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await own.start();
  return { ...own, url: `redis://127.0.0.1:${port}` };
}
