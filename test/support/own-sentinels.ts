/** A Redis master, its replica and three Sentinels of a test's own, on loopback. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { masterName, sentinelServer, viewOf } from '../../src/lab/environment/servers/sentinel.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from './folder.ts';
import { ownPorts } from './own-ports.ts';
import { startOwnRedis } from './own-redis.ts';

const password = 'of-the-masters';

export interface OwnSentinels {
  /** The settings of a service that uses them. The URL names no server that exists. */
  readonly settings: Readonly<Record<string, string>>;
  /** On the server that is the master at first, and the Sentinel beside it. */
  onBoth(change: 'kill' | 'pause' | 'resume'): Promise<void>;
  /** Its URL, and that of the replica. */
  readonly urls: readonly [first: string, second: string];
  /** Resolves when the second server is a master. */
  promoted(): Promise<void>;
}

export async function startOwnSentinels(): Promise<OwnSentinels> {
  const secrets = { requirepass: password, masterauth: password };
  const main = await startOwnRedis(secrets, { access: { password } });
  const replica = { ...secrets, replicaof: `127.0.0.1 ${main.port}` };
  const second = await startOwnRedis(replica, { access: { password } });
  const becomes = (description: string, info: RegExp) =>
    waitUntil(description, 20_000, async () => info.test(await second.admin.info()));
  await becomes('a copy', /master_link_status:up/);
  const folder = someFolder();
  const first = await ownPorts(19_400, 3);
  const ports = [first, first + 1, first + 2];
  const sentinels = ports.map((port) => sentinelOf(folder, port, main.port));
  onTestFinished(async () => void (await Promise.all(sentinels.map((each) => each.end()))));
  await Promise.all(sentinels.map((each) => each.start()));
  // Not the first: the clients ask the next one when they connect again.
  const pair = [main, sentinels[1] as OwnServer];
  const url = (port: number) => `redis://:${password}@127.0.0.1:${port}/2`;
  return {
    settings: {
      REDIS_URL: url(1),
      REDIS_SENTINELS: ports.map((port) => `127.0.0.1:${port}`).join(','),
    },
    onBoth: async (change) => void (await Promise.all(pair.map((each) => each[change]()))),
    urls: [url(main.port), url(second.port)],
    promoted: () => becomes('a promotion', /role:master/),
  };
}

/** It has found the replica and the other two. */
function sentinelOf(folder: string, port: number, master: number): OwnServer {
  const name = `sentinel-${port}`;
  const server = sentinelServer(name, folder, port, master);
  const prepare = async () => {
    await server.prepare?.();
    const line = `sentinel auth-pass ${masterName} ${password}\n`;
    appendFileSync(join(folder, name, 'sentinel.conf'), line);
  };
  const answers = async () => {
    const { replicas, otherSentinels } = await viewOf(port);
    return replicas >= 1 && otherSentinels >= 2;
  };
  return new OwnServer({ ...server, prepare, answers });
}
