/**
 * The epoch that MySQL and Redis share: adopted by empty stores, and a reason not to start when the
 * two stores do not belong together.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { pino } from 'pino';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import { change, select } from '../../src/service/connections/mysql.ts';
import { migrate } from '../../src/service/connections/schema.ts';
import { serviceError } from '../../src/service/errors.ts';
import { openRung } from '../../src/service/ladder/open-rung.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { compareStores, onceStoresAnswer } from '../../src/service/processes/wait-for-stores.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import { withCode } from '../support/basics.ts';
import { quietRedis, testConnections } from '../support/connections.ts';
import { isOnMysql, ownLab } from '../support/own-lab.ts';
import { makeReadOnly, ownDatabase } from '../support/own-stores.ts';
import { someOrder, someVoucher } from '../support/sale.ts';
import { ownPorts } from '../support/servers.ts';
import { proxyBefore } from '../support/test-proxy.ts';

const never = new AbortController().signal;
/** An empty one of Redis's own databases, and an empty database of MySQL. */
let stores: { MYSQL_URL: string; REDIS_URL: string };

beforeEach(async () => {
  const MYSQL_URL = await ownDatabase();
  await migrate(MYSQL_URL);
  stores = { MYSQL_URL, REDIS_URL: `${quietRedis()}/${randomInt(1, 16)}` };
  const redis = testConnections(stores).redis('admin');
  await once(redis, 'ready');
  await redis.flushdb();
  onTestFinished(async () => {
    await redis.flushdb();
  });
});

const epochInMysql = async (connections: Connections) =>
  (await select<{ value: string }>(connections.mysql(), 'SELECT value FROM store_epoch'))[0]?.value;
const epochsInRedis = (connections: Connections) =>
  Promise.all(
    connections.saleKeys.shards.map(({ epoch }) => connections.redis('admin').get(epoch)),
  );

const programs = ['service', 'api', 'order-worker'];

/** Starts a program of the service, and ends it with the test. */
function startProgram(program: string, settings: Readonly<Record<string, string>>) {
  const entry = new URL(`../../dist/service/bin/${program}.js`, import.meta.url).pathname;
  const env = { ...process.env, ...ownLab.environment, ...settings, PORT: '17985' };
  const child = spawn(process.execPath, [entry], { env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      output += String(part);
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, ended };
}

/** A log, and the events in it. */
function logged() {
  const events: string[] = [];
  const write = (line: string) => void events.push((JSON.parse(line) as { event: string }).event);
  return { events, log: pino({}, { write }) };
}

/** Agrees, and returns the events that were logged. */
async function agree(connections: Connections): Promise<string[]> {
  const { events, log } = logged();
  await agreeOnEpoch(connections, log);
  return events;
}

describe('two empty stores', () => {
  test('get one epoch, from however many processes, and keep it', async () => {
    const processes = [0, 1, 2].map(() => testConnections({ ...stores, SALE_SHARDS: '3' }));
    expect((await Promise.all(processes.map(agree))).flat()).toEqual([]);
    const [connections] = processes as [Connections];
    const epoch = await epochInMysql(connections);
    expect(epoch).toMatch(/^[0-9a-f-]{36}$/);
    expect(await epochsInRedis(connections)).toEqual([epoch, epoch, epoch]);
    await agree(connections);
    expect(await epochInMysql(connections)).toBe(epoch);
  });

  test.each([0, 1, 2])('agree after a kill, when %d of 3 shards were written', async (written) => {
    const connections = testConnections({ ...stores, SALE_SHARDS: '3' });
    await agree(connections);
    const before = await epochsInRedis(connections);
    const later = connections.saleKeys.shards.slice(written).map(({ epoch }) => epoch);
    await connections.redis('admin').del(...later);
    expect(await agree(connections)).toEqual([]);
    expect(await epochsInRedis(connections)).toEqual(before);
  });
});

test('a process agrees with a MySQL that has become read-only: it is not written again', async () => {
  const connections = testConnections(stores);
  await agree(connections);
  const epoch = await epochInMysql(connections);
  await makeReadOnly();
  const refusal = change(connections.mysql(), 'UPDATE store_epoch SET value = value', []);
  await expect(refusal).rejects.toMatchObject({ errno: 1290 });
  expect(await agree(connections)).toEqual([]);
  expect(await epochInMysql(connections)).toBe(epoch);
});

describe('stores that do not belong together', () => {
  test('are refused when MySQL was created again, and nothing is written to Redis', async () => {
    const connections = testConnections({ ...stores, SALE_SHARDS: '2' });
    const [empty = '', other = ''] = connections.saleKeys.shards.map(({ epoch }) => epoch);
    const redis = connections.redis('admin');
    await connections.ready();
    await redis.set(other, 'of-an-older-mysql');
    const refusal = agree(connections);
    await expect(refusal).rejects.toMatchObject({ code: 'EPOCHS_DIFFER' });
    await expect(refusal).rejects.toThrow('of-an-older-mysql');
    await expect(refusal).rejects.toThrow(String(await epochInMysql(connections)));
    expect([await redis.get(empty), await redis.get(other)]).toEqual([null, 'of-an-older-mysql']);
  });

  test('are refused when MySQL was restored from another service, also after sales', async () => {
    const connections = testConnections(stores);
    await agree(connections);
    await someVoucher(connections);
    await change(connections.mysql(), 'UPDATE store_epoch SET value = ?', ['another']);
    await expect(agree(connections)).rejects.toThrow(/MySQL has the epoch another and Redis has/);
  });

  test.each(programs)('end %s with code 1 and both epochs', async (program) => {
    const connections = testConnections(stores);
    await agree(connections);
    const epoch = String(await epochInMysql(connections));
    await connections.redis('admin').set('{sale:0}:epoch', 'of-another-service');
    const { output, ended } = startProgram(program, stores);
    expect(await ended).toBe(1);
    for (const text of [epoch, 'of-another-service', 'Correct the URL'])
      expect(output()).toContain(text);
  });
});

describe('a Redis that has lost its data', () => {
  test('is adopted and logged: old vouchers stay not ready, new ones are sold', async () => {
    const connections = testConnections(stores);
    const redis = connections.redis('admin');
    await agree(connections);
    const { inventory, purchase } = await openRung('lua-stream', connections);
    const vouchers = openVouchers(connections);
    const { id: _, ...sale } = await someVoucher(connections);
    const old = await vouchers.create(sale, inventory.prepare);
    expect(await purchase(someOrder(old.id, '7'), old)).toMatchObject({ kind: 'accepted' });
    await redis.flushdb();
    expect(await agree(connections)).toEqual(['redis-has-no-epoch']);
    expect(await epochsInRedis(connections)).toEqual([await epochInMysql(connections)]);
    expect(await agree(connections)).toEqual([]);
    const lost = { kind: 'refused', reason: 'not-ready' };
    for (const userId of ['7', '8'])
      expect(await purchase(someOrder(old.id, userId), old)).toMatchObject(lost);
    const next = await vouchers.create(sale, inventory.prepare);
    expect(Number(next.id)).toBeGreaterThan(Number(old.id));
    expect(await purchase(someOrder(next.id, '7'), next)).toMatchObject({ kind: 'accepted' });
  });
});

describe.skipIf(isOnMysql)('a store that does not answer', () => {
  test('is waited for', async () => {
    const proxy = await proxyBefore(stores.REDIS_URL);
    const REDIS_URL = proxy.url;
    const connections = testConnections({ ...stores, REDIS_URL });
    proxy.cut();
    const { events, log } = logged();
    const agreed = () => agreeOnEpoch(connections, log);
    const waiting = onceStoresAnswer(agreed, 30_000, log, never);
    const isWaiting = () => events.includes('store-not-ready');
    await waitUntil('the start to wait', 20_000, isWaiting);
    proxy.mend();
    await waiting;
    expect(await epochsInRedis(connections)).toEqual([await epochInMysql(connections)]);
  });

  test.each(programs)('does not keep %s from a stop', async (program) => {
    const REDIS_URL = `redis://127.0.0.1:${await ownPorts(19_990)}`;
    const { child, output, ended } = startProgram(program, { ...stores, REDIS_URL });
    const isWaiting = () => output().includes('store-not-ready');
    await waitUntil('the start to wait', 20_000, isWaiting);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('the number of shards that Redis was filled with', () => {
  test.each([
    ['1', '2'],
    ['3', '1'],
  ])('%s keeps a service with SALE_SHARDS=%s from its start', async (SALE_SHARDS, other) => {
    await agree(testConnections({ ...stores, SALE_SHARDS }));
    const connections = testConnections({ ...stores, SALE_SHARDS: other });
    await expect(agree(connections)).rejects.toMatchObject({
      code: 'SALE_SHARDS_DIFFER',
      message: expect.stringContaining(`Set SALE_SHARDS to ${SALE_SHARDS}.`),
    });
    await expect(reconcile(connections)).rejects.toMatchObject({ code: 'SALE_SHARDS_DIFFER' });
    const count = await connections.redis('admin').get('{sale:0}:shards');
    expect(count).toBe(SALE_SHARDS);
    await agree(testConnections({ ...stores, SALE_SHARDS }));
  });

  test.each(['1', '3'])(
    'is known from the epochs where an older version filled %s',
    async (SALE_SHARDS) => {
      const connections = testConnections({ ...stores, SALE_SHARDS });
      await agree(connections);
      await connections.redis('admin').del('{sale:0}:shards');
      const other = testConnections({ ...stores, SALE_SHARDS: '2' });
      await expect(agree(other)).rejects.toMatchObject({ code: 'SALE_SHARDS_DIFFER' });
      expect(await agree(connections)).toEqual([]);
    },
  );

  test('is not written by a command', async () => {
    const connections = testConnections(stores);
    await agree(connections);
    const redis = connections.redis('admin');
    await redis.del('{sale:0}:shards');
    await reconcile(connections);
    expect(await redis.exists('{sale:0}:shards')).toBe(0);
  });
});

describe('a process that started without MySQL', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  /** The first comparisons end with these errors, and the next one ends well. */
  async function startWith(...errors: readonly Error[]) {
    const connections = testConnections({ ...stores, ORDER_DURABILITY: 'everysec' });
    await agree(connections);
    const { events, log } = logged();
    const left = [...errors];
    const compare = async () => {
      const error = left.shift();
      if (error) throw error;
    };
    const { ended } = await compareStores({ connections, log, signal: never, compare });
    return { ended, events };
  }

  test('compares again until it has an answer, also after an error that says nothing about the data', async () => {
    const { ended, events } = await startWith(away, away, new Error('Deadlock found'));
    await ended;
    expect(events).toEqual(['started-without-mysql', 'stores-not-compared', 'mysql-is-back']);
  });

  test('learns that the data differ', async () => {
    const { ended, events } = await startWith(away, serviceError('EPOCHS_DIFFER', 'one', 'other'));
    await expect(ended).rejects.toThrow(withCode('EPOCHS_DIFFER'));
    expect(events.at(-1)).toBe('stores-differ');
  });

  test('does not start when Redis keeps less than ORDER_DURABILITY promises', async () => {
    const connections = testConnections(stores);
    await agree(connections);
    const { log } = logged();
    const compare = () => Promise.reject(away);
    const start = compareStores({ connections, log, signal: never, compare });
    await expect(start).rejects.toMatchObject({ code: 'DURABILITY_TOO_WEAK' });
  });

  test('does not start when Redis has no epoch, or is being rebuilt', async () => {
    const connections = testConnections(stores);
    await agree(connections);
    const redis = connections.redis('admin');
    const { log } = logged();
    const compare = () => Promise.reject(away);
    const start = () => compareStores({ connections, log, signal: never, compare });
    const epoch = connections.saleKeys.shards[0]?.epoch ?? '';
    await redis.set(epoch, `rebuilding:${await redis.get(epoch)}`);
    await expect(start()).rejects.toThrow('ECONNREFUSED');
    await redis.del(epoch);
    await expect(start()).rejects.toThrow('ECONNREFUSED');
  });
});
