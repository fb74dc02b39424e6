/** A Redis master, its replica and three Sentinels of a test's own, on loopback. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../src/lab/environment/process-table.ts';
import {
  programPath,
  signalProcess,
  startProcess,
  stopProcess,
} from '../../src/lab/environment/processes.ts';
import { downAfterMs } from '../../src/lab/environment/servers/sentinel.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from './folder.ts';
import { ownPorts } from './own-ports.ts';

const password = 'of-the-masters';
const name = 'redis-main';

export interface OwnSentinels {
  /** The settings of a service that uses them. The URL names no server that exists. */
  readonly settings: Readonly<Record<string, string>>;
  /** To the server that is the master at first, and to the Sentinel beside it. */
  signalMaster(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** Its URL, and that of the replica. */
  readonly urls: readonly [first: string, second: string];
  /** Resolves when the second server is a master. */
  promoted(): Promise<void>;
}

export async function startOwnSentinels(): Promise<OwnSentinels> {
  const folder = someFolder();
  const first = await ownPorts(19_400, 5);
  const [one, two] = [first, first + 1];
  const sentinels = [first + 2, first + 3, first + 4];
  const start = (port: number, args: readonly string[]): ProcessRef => {
    const data = join(folder, String(port));
    mkdirSync(data, { recursive: true });
    const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data];
    const logFile = join(folder, `${port}.log`);
    const ref = startProcess({
      command: programPath('redis-server'),
      args: [...args, ...own],
      logFile,
    });
    onTestFinished(() => stopProcess(ref));
    return ref;
  };
  const data = [
    '--save',
    '',
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
    '--repl-diskless-sync-delay',
    '0',
  ];
  const secrets = ['--requirepass', password, '--masterauth', password];
  const master = start(one, [...data, ...secrets]);
  await untilReplied(one, 'INFO', /redis_version/);
  start(two, [...data, ...secrets, '--replicaof', `127.0.0.1 ${one}`]);
  await untilReplied(two, 'INFO replication', /master_link_status:up/);
  // Not the first: the clients ask the next one when they connect again.
  const [, beside] = sentinels.map((port) =>
    start(port, [sentinelFile(folder, port, one), '--sentinel']),
  );
  for (const port of sentinels) {
    const ready = /num-slaves,1,.*num-other-sentinels,2,/;
    await untilReplied(port, `SENTINEL MASTER ${name}`, ready, false);
  }
  const url = (port: number) => `redis://:${password}@127.0.0.1:${port}/2`;
  return {
    settings: {
      REDIS_URL: url(1),
      REDIS_SENTINELS: sentinels.map((port) => `127.0.0.1:${port}`).join(','),
    },
    signalMaster: (signal) => {
      for (const each of [master, beside]) if (each) signalProcess(each, signal);
    },
    urls: [url(one), url(two)],
    promoted: () => untilReplied(two, 'INFO replication', /role:master/),
  };
}

/** Sentinel rewrites its file. */
function sentinelFile(folder: string, port: number, master: number): string {
  const file = join(folder, `sentinel-${port}.conf`);
  const lines = [
    `sentinel monitor ${name} 127.0.0.1 ${master} 2`,
    `sentinel auth-pass ${name} ${password}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    `sentinel failover-timeout ${name} 5000`,
  ];
  writeFileSync(file, lines.join('\n'));
  return file;
}

async function untilReplied(
  port: number,
  command: string,
  reply: RegExp,
  hasPassword = true,
): Promise<void> {
  const redis = new Redis({ port, ...(hasPassword && { password }), enableReadyCheck: false });
  redis.on('error', () => {});
  const [word = '', ...rest] = command.split(' ');
  try {
    await waitUntil(`${command} to answer ${reply}`, 20_000, async () =>
      reply.test(String(await redis.call(word, ...rest))),
    );
  } finally {
    redis.disconnect();
  }
}
