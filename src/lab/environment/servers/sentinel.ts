/** One of three Redis Sentinels, which promote a replica when redis-main does not answer. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../processes.ts';
import { withRedis } from '../replication.ts';
import type { Server } from './server.ts';

/** The name by which clients ask for the master. */
export const masterName = 'redis-main';

/**
 * Short, so that a drill is. Not one second: after a failover a Sentinel may connect to the new
 * master one second late. It would take it for dead, and promote the old one, which has no copy.
 */
export const downAfterMs = 2_000;

export function sentinelServer(name: string, folder: string, port: number, master: number): Server {
  const data = join(folder, name);
  const file = join(data, 'sentinel.conf');
  return {
    name,
    port,
    // A Sentinel writes what it learns into its file, and reads it when it starts again.
    prepare: async () => {
      mkdirSync(data, { recursive: true });
      if (!existsSync(file)) writeFileSync(file, settings(data, port, master));
    },
    program: () => ({
      command: programPath('redis-server'),
      args: [file, '--sentinel'],
      logFile: join(folder, `${name}.log`),
    }),
    answers: () => isPrepared(port),
  };
}

interface View {
  /** Of the master. */
  readonly port: number;
  /** `master`, and more words during a failover and while the master does not answer. */
  readonly flags: string;
  readonly replicas: number;
  readonly otherSentinels: number;
}

/** What this Sentinel knows. */
export const viewOf = (port: number): Promise<View> =>
  withRedis(port, async (sentinel) => {
    const answer = (await sentinel.call('SENTINEL', 'MASTER', masterName)) as string[];
    return {
      port: Number(fieldOf(answer, 'port')),
      flags: fieldOf(answer, 'flags'),
      replicas: Number(fieldOf(answer, 'num-slaves')),
      otherSentinels: Number(fieldOf(answer, 'num-other-sentinels')),
    };
  });

const fieldOf = (answer: readonly string[], name: string): string =>
  answer[answer.indexOf(name) + 1] ?? '';

/** A field of what this Sentinel knows of the replica on a port; empty when it knows none there. */
export const fieldOfReplica = (port: number, replica: number, name: string): Promise<string> =>
  withRedis(port, async (sentinel) => {
    const answers = (await sentinel.call('SENTINEL', 'REPLICAS', masterName)) as string[][];
    const own = answers.find((answer) => fieldOf(answer, 'port') === String(replica));
    return own ? fieldOf(own, name) : '';
  });

/** Before both replicas: the master is given back to it. */
export const priorityOfMain = '50';

/** True when this Sentinel has looked at redis-main as a replica: before, it takes it for a 100. */
export const sawMainAsReplica = async (port: number, redisMain: number): Promise<boolean> =>
  (await fieldOfReplica(port, redisMain, 'role-reported')) === 'slave' &&
  (await fieldOfReplica(port, redisMain, 'slave-priority')) === priorityOfMain;

/** What Sentinel does by itself. */
export const defaultLookEveryMs = 10_000;

/** How often this Sentinel asks each Redis what it is. */
export const lookEvery = (port: number, ms: number): Promise<void> =>
  withRedis(port, async (sentinel) => {
    await sentinel.call('SENTINEL', 'DEBUG', 'info-period', ms);
  });

/** It knows both replicas and both other Sentinels: before that it may promote the wrong one. */
async function isPrepared(port: number): Promise<boolean> {
  const { replicas, otherSentinels } = await viewOf(port);
  return replicas >= 2 && otherSentinels >= 2;
}

const settings = (data: string, port: number, master: number): string => `
port ${port}
bind 127.0.0.1
dir ${data}
sentinel monitor ${masterName} 127.0.0.1 ${master} 2
sentinel down-after-milliseconds ${masterName} ${downAfterMs}
sentinel failover-timeout ${masterName} 3000
sentinel parallel-syncs ${masterName} 1
`;
