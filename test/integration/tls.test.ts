/** A deployment reaches its stores by TLS: it sells and records, and trusts its own CA only. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import mysql from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { databaseUrl } from '../../src/lab/environment/servers/database.ts';
import { mariadbServer } from '../../src/lab/environment/servers/mariadb.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { call, deploymentSecret, putOnSale, tokenFor } from '../support/client.ts';
import { newDataFolder } from '../support/data-home.ts';
import { ownPorts } from '../support/own-ports.ts';
import { startOwnRedis } from '../support/own-redis.ts';
import { ownStores } from '../support/own-stores.ts';
import { startService } from '../support/service-process.ts';

const days = ['-days', '1'];

/** A CA, and a certificate of 127.0.0.1 that it has signed. */
async function certificates() {
  const folder = newDataFolder();
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execa('openssl', args, { cwd: folder });
  const newKey = ['-newkey', 'rsa:2048', '-nodes'];
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', ...days],
    ...['-subj', '/CN=the CA of this test'],
  );
  await openssl(
    ...['req', '-x509', ...newKey, '-keyout', 'server.key', '-out', 'server.pem', ...days],
    ...['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', '/CN=a store'],
    ...[
      '-addext',
      'subjectAltName=IP:127.0.0.1,DNS:localhost',
      '-addext',
      'basicConstraints=CA:FALSE',
    ],
  );
  return { ca: at('ca.pem'), key: at('server.key'), certificate: at('server.pem') };
}

type Certificates = Awaited<ReturnType<typeof certificates>>;

async function redisWithTls({ ca, key, certificate }: Certificates): Promise<string> {
  const port = await ownPorts(19_350);
  await startOwnRedis({
    ...{ 'tls-port': String(port), 'tls-cert-file': certificate, 'tls-key-file': key },
    ...{ 'tls-ca-cert-file': ca, 'tls-auth-clients': 'no' },
  });
  return `rediss://127.0.0.1:${port}`;
}

async function databaseWithTls({ ca, key, certificate }: Certificates): Promise<string> {
  const port = await ownPorts(19_380);
  const server = mariadbServer(newDataFolder(), port);
  await server.prepare?.();
  const { args, ...program } = server.program();
  const tls = [`--ssl-cert=${certificate}`, `--ssl-key=${key}`, '--require-secure-transport=ON'];
  const ref = startProcess({ ...program, args: [...args, ...tls] });
  onTestFinished(() => stopProcess(ref));
  const uri = databaseUrl(port);
  await waitUntil('MariaDB with TLS', 30_000, async () => {
    const connection = await mysql.createConnection({ uri, ssl: { ca: readFileSync(ca) } });
    await connection.end();
    return true;
  });
  await expect(mysql.createConnection({ uri })).rejects.toThrow('Access denied');
  return `${uri}?ssl={"verifyIdentity":true}`;
}

test('it sells and records by TLS, and does not start where it cannot trust a store', async () => {
  const made = await certificates();
  const stores = {
    ...{ REDIS_URL: await redisWithTls(made), MYSQL_URL: await databaseWithTls(made) },
    ...{ TOKEN_SECRET: deploymentSecret, ORDER_DURABILITY: 'always' },
  };
  const entry = join('dist', 'bin', 'service.js');
  const trusting = { ...stores, NODE_EXTRA_CA_CERTS: made.ca };
  const { baseUrl, stop } = await startService(entry, trusting);
  onTestFinished(async () => void (await stop()));
  const id = await putOnSale(
    {},
    { baseUrl, token: await tokenFor('1', 'operator', deploymentSecret) },
  );
  const token = await tokenFor('7', 'user', deploymentSecret);
  const bought = await call(`/vouchers/${id}/orders`, { method: 'POST', token, baseUrl });
  expect(bought.status).toBe(202);
  const path = bought.headers.get('location') ?? '';
  const state = async () =>
    (await (await call(path, { token, baseUrl })).json()) as { status: string };
  await waitUntil('the order', 20_000, async () => (await state()).status === 'confirmed');

  const plain = await ownStores();
  for (const url of ['REDIS_URL', 'MYSQL_URL'] as const) {
    const env = { ...stores, ...plain, [url]: stores[url], START_WAIT_MS: '1500', PORT: '19899' };
    const { exitCode, stdout } = await execa(process.execPath, [entry], {
      ...{ env: { PATH: process.env['PATH'], ...env }, extendEnv: false },
      ...{ reject: false, timeout: 20_000 },
    });
    expect([url, exitCode]).toEqual([url, 1]);
    expect(stdout).toMatch(/unable to (verify|get)|self-signed/);
  }
}, 90_000);
