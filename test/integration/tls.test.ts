/** A deployment reaches its stores by TLS: it sells and records, and trusts its own CA only. */
import { readFileSync } from 'node:fs';
import { execa } from 'execa';
import mysql from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { databaseServer, databaseUrl } from '../../src/lab/environment/servers/database.ts';
import { someFolder } from '../support/basics.ts';
import { deploymentSecret } from '../support/client.ts';
import { ownStores } from '../support/own-stores.ts';
import {
  type Certificates,
  certificates,
  redisTls,
  startRedisCluster,
} from '../support/redis-cluster.ts';
import { ownPorts, startOwn, startOwnRedis } from '../support/servers.ts';
import { deploy, serviceEntry } from '../support/service-process.ts';

async function redisWithTls(made: Certificates): Promise<string> {
  const port = await ownPorts(19_350);
  const { port: _, ...tls } = redisTls(made, port);
  await startOwnRedis(tls);
  return `rediss://127.0.0.1:${port}`;
}

async function databaseWithTls({ ca, key, certificate }: Certificates): Promise<string> {
  const port = await ownPorts(19_380);
  const server = databaseServer('mariadb', someFolder(), port);
  await server.prepare?.();
  const { args, ...program } = server.program();
  const tls = [`--ssl-cert=${certificate}`, `--ssl-key=${key}`, '--require-secure-transport=ON'];
  const uri = databaseUrl(port);
  const answers = async () => {
    const connection = await mysql.createConnection({ uri, ssl: { ca: readFileSync(ca) } });
    await connection.end();
    return true;
  };
  const withTls = () => ({ ...program, args: [...args, ...tls] });
  await startOwn(new OwnServer({ ...server, program: withTls, answers }));
  const refusal = /Access denied|insecure transport/; // Of MariaDB 10.11, and of 11.8.
  await expect(mysql.createConnection({ uri })).rejects.toThrow(refusal);
  return `${uri}?ssl={"verifyIdentity":true}`;
}

test('it sells and records by TLS, and does not start where it cannot trust a store', async () => {
  const made = await certificates('IP:127.0.0.1,DNS:localhost');
  const stores = {
    ...{ REDIS_URL: await redisWithTls(made), MYSQL_URL: await databaseWithTls(made) },
    ...{ TOKEN_SECRET: deploymentSecret, ORDER_DURABILITY: 'always' },
  };
  await sellAndRecord({ ...stores, NODE_EXTRA_CA_CERTS: made.ca });
  const plain = await ownStores();
  const untrusted = (['REDIS_URL', 'MYSQL_URL'] as const).map(async (url) => {
    const { exitCode, stdout } = await started({ ...stores, ...plain, [url]: stores[url] });
    expect([url, exitCode]).toEqual([url, 1]);
    expect(stdout).toMatch(/unable to (verify|get)|self-signed/);
  });
  await Promise.all(untrusted);
}, 180_000);

/** The service, in vain. */
const started = (settings: Readonly<Record<string, string>>) =>
  execa(process.execPath, [serviceEntry], {
    env: { PATH: process.env['PATH'], ...settings, START_WAIT_MS: '1500', PORT: '19899' },
    ...{ extendEnv: false, reject: false, timeout: 20_000 },
  });

async function sellAndRecord(settings: Readonly<Record<string, string>>): Promise<void> {
  const { onSale, buy, confirmed } = await deploy(settings);
  const { httpStatus, location } = await buy(await onSale(), 7);
  expect(httpStatus).toBe(202);
  await confirmed(location, 7);
}

const namesHosts = {
  'cluster-announce-hostname': 'localhost',
  'cluster-preferred-endpoint-type': 'hostname',
};
test.each<[string, Readonly<Record<string, string>>]>([
  ['IP addresses', {}],
  ['names', namesHosts],
])(
  'a Redis Cluster that names its nodes by their %s has certificates of names',
  async (_, own) => {
    const made = await certificates('DNS:localhost');
    const cluster = await startRedisCluster({ tls: made, settings: own });
    onTestFinished(() => cluster.stop());
    const { MYSQL_URL } = await ownStores();
    const REDIS_URL = cluster.url.replace('redis:', 'rediss:').replace('127.0.0.1', 'localhost');
    const stores = { MYSQL_URL, REDIS_URL, REDIS_CLUSTER: '1', SALE_SHARDS: '4' };
    const settings = { ...stores, TOKEN_SECRET: deploymentSecret, NODE_EXTRA_CA_CERTS: made.ca };
    await sellAndRecord(settings);
    // The log names the cause: a certificate of another address, and one that nobody vouches for.
    const byAddress = REDIS_URL.replace('localhost', '127.0.0.1');
    const [other, unknown] = await Promise.all([
      started({ ...settings, REDIS_URL: byAddress }),
      started({ ...settings, NODE_EXTRA_CA_CERTS: '' }),
    ]);
    expect([other.exitCode, unknown.exitCode]).toEqual([1, 1]);
    expect(other.stdout).toContain("does not match certificate's altnames");
    expect(unknown.stdout).toMatch(/slots cache. (unable to (verify|get)|self-signed)/);
  },
  180_000,
);
