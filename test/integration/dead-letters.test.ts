/**
 * The dead letters of the final rung, as an operator handles them: listed, replayed once and only
 * while it is safe, discarded.
 */
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { collectFacts } from '../../src/audit/collect.ts';
import { confirmed } from '../../src/audit/facts.ts';
import { type Connections, readEpoch } from '../../src/connections/connections.ts';
import { change, select } from '../../src/connections/mysql.ts';
import type { ShardKeys } from '../../src/connections/sale-keys.ts';
import { loadScript } from '../../src/connections/scripts.ts';
import type { Order, Voucher } from '../../src/domain.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { deadLetter } from '../../src/orders/dead-letters.ts';
import { findOrder } from '../../src/orders/find-order.ts';
import { discardLetter, findLetter, listLetters } from '../../src/orders/letters.ts';
import { recordOne } from '../../src/orders/record-orders.ts';
import { replayLetter } from '../../src/orders/replay-letter.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { deploymentSecret, putOnSale } from '../support/client.ts';
import { openConnections, quietRedis, testConnections } from '../support/connections.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownStores, startedProcess } from '../support/own-stores.ts';
import { openStreamQueue, someOrder, someVoucher, someVoucherId } from '../support/sale.ts';
import { buyOrder, onSale, usersUpTo, workUntilEmpty } from '../support/selling.ts';
import { swallowingProxy } from '../support/swallowing-proxy.ts';

const settings = { REDIS_URL: quietRedis(), CLAIM_IDLE_MS: '100', BATCH_GATHER_MS: '0' };
let connections: Connections;
let voucher: Voucher;
let keys: ShardKeys;

beforeEach(async () => {
  connections = openConnections(settings);
  connections.redis('admin');
  connections.redis('purchase');
  await connections.ready();
  voucher = await onSale(connections, 3);
  keys = connections.saleKeys.of(voucher.id);
  await redis().del(keys.orders, keys.queued, keys.dead, keys.replayed);
  await redis().set(keys.epoch, await readEpoch(connections.mysql()));
});
afterEach(() => connections.close());

const redis = () => connections.redis('admin');
const orderIds = { next: () => someOrder('1', '1').id };
const replay = (id: string) => replayLetter(connections, orderIds, id);
const redisStock = () => redis().hget(keys.voucher(voucher.id), 'stock');
const queued = () => redis().xlen(keys.orders);

async function buy(userId: string): Promise<Order> {
  const order = someOrder(voucher.id, userId);
  const outcome = await buyOrder(connections, voucher, order);
  expect(outcome).toMatchObject({ kind: 'accepted' });
  return order;
}

/** As the worker does at the fifth refusal. @returns the id of its letter. */
async function letterOf(order: Order): Promise<string> {
  await giveBack(order);
  const entries = await redis().xrange(keys.orders, '-', '+');
  const own = entries.filter(([, fields]) => fields.includes(order.id)).map(([id]) => id);
  await redis().xdel(keys.orders, ...own);
  await redis().hdel(keys.queued, order.id);
  const { letters } = await listLetters(connections, 1_000);
  return letters.find(({ orderId }) => orderId === order.id)?.id ?? 'missing';
}

const giveBack = (order: Order): Promise<void> => {
  const death = { reason: 'undeliverable', deliveries: 5 } as const;
  return deadLetter(connections.mysql(), redis(), connections.saleKeys, order, death);
};

/** The whole sale, as `npx lockstep audit` judges it. */
async function auditOf(voucherId: string) {
  const facts = await collectFacts(connections, voucherId);
  if (!facts) throw new Error('the voucher is gone');
  return { verdict: audit(facts).verdict, facts };
}

/** The letter of an entry that the worker cannot read, for an order that Redis has noted. */
async function malformedLetter(noted: string | null, orderId: string): Promise<string> {
  if (noted !== null) await redis().hset(keys.queued, orderId, noted);
  await redis().xadd(keys.orders, '*', 'orderId', orderId, 'nonsense', '1');
  await workUntilEmpty(connections);
  const { letters } = await listLetters(connections, 1_000);
  return letters.at(-1)?.id ?? 'missing';
}

describe('a dead letter', () => {
  test('says which order of which user failed, why, after how many deliveries, and when', async () => {
    const order = await buy('7');
    const before = Date.now();
    const id = await letterOf(order);
    const letter = await findLetter(connections, id);
    expect(letter).toMatchObject({
      ...{ reason: 'undeliverable', deliveries: 5, isOwnerKnown: true },
      ...{ orderId: order.id, voucherId: voucher.id, userId: '7' },
    });
    expect(Math.abs(Date.parse(letter.deadAt) - before)).toBeLessThan(60_000);
    const fields = ['orderId', order.id, 'voucherId', voucher.id, 'userId', '7'];
    expect(letter.entry).toEqual([...fields, 'requestId', order.requestId]);
  });

  test('of a malformed entry has the entry, and the user that Redis had noted', async () => {
    const order = someOrder(voucher.id, '7');
    const letter = await findLetter(
      connections,
      await malformedLetter(`${voucher.id}:7`, order.id),
    );
    expect(letter).toMatchObject({
      ...{ reason: 'malformed', cause: 'voucherId is missing', deliveries: 1, isOwnerKnown: true },
      ...{ orderId: order.id, voucherId: voucher.id, userId: '7' },
    });
    expect(letter.entry).toEqual(['orderId', order.id, 'nonsense', '1']);
  });

  test('of an earlier version is read too', async () => {
    const old = ['orderId', '5', 'voucherId', voucher.id, 'userId', '7', 'reason', 'undeliverable'];
    await redis().xadd(keys.dead, '*', ...old);
    await redis().xadd(keys.dead, '*', 'reason', 'malformed', 'cause', 'x', 'orderId', '6');
    const { letters, total } = await listLetters(connections, 10);
    expect(total).toBe(2);
    expect(letters).toMatchObject([
      { reason: 'undeliverable', orderId: '5', userId: '7', isOwnerKnown: true },
      { reason: 'malformed', cause: 'x', orderId: '6', isOwnerKnown: false },
    ]);
    expect(letters[0]).not.toHaveProperty('deliveries');
  });

  test('is listed with those of all shards, the oldest first, and no more than were asked for', async () => {
    const sharded = testConnections({ ...settings, SALE_SHARDS: '2' });
    const admin = sharded.redis('admin');
    await sharded.ready();
    const [first, second] = sharded.saleKeys.shards;
    const letters = [
      [first?.dead ?? '', '1-1'],
      [second?.dead ?? '', '2-1'],
      [first?.dead ?? '', '3-1'],
    ] as const;
    await admin.del(first?.dead ?? '', second?.dead ?? '');
    for (const [stream, id] of letters) await admin.xadd(stream, id, 'reason', 'undeliverable');
    const listed = await listLetters(sharded, 2);
    expect([listed.total, listed.letters.map(({ id }) => id)]).toEqual([3, ['0-1-1', '1-2-1']]);
    await admin.del(first?.dead ?? '', second?.dead ?? '');
  });

  test.each(['0-1-1', '1-1-1', '99-1-1', '7', 'nonsense', '', '0-1'])(
    'that does not exist is refused by its id: %j',
    async (id) => {
      for (const act of [replay, (each: string) => discardLetter(connections, each)])
        await expect(act(id)).rejects.toMatchObject({ code: 'UNKNOWN_DEAD_LETTER' });
    },
  );
});

describe('a replay', () => {
  test('of an order that MySQL refused sells it again once MySQL takes it, and the old order stays failed', async () => {
    const banned = someVoucherId();
    const alter = 'ALTER TABLE orders';
    await connections.mysql().query(`${alter} ADD CONSTRAINT banned CHECK (user_id <> ${banned})`);
    let isBanned = true;
    const lift = async () => {
      const later = openConnections();
      if (isBanned) await later.mysql().query(`${alter} DROP CONSTRAINT banned`);
      isBanned = false;
      await later.close();
    };
    onTestFinished(lift);
    const order = await buy(banned);
    await workUntilEmpty(connections);
    const [letter] = (await listLetters(connections, 10)).letters;
    expect(letter).toMatchObject({ reason: 'undeliverable', userId: banned });
    expect(letter?.deliveries).toBeGreaterThanOrEqual(5);
    await lift();
    const { orderId, isFirst } = await replay(letter?.id ?? '');
    expect(isFirst).toBe(true);
    expect(orderId).not.toBe(order.id);
    expect(await findOrder(connections, orderId)).toMatchObject({ status: 'queued' });
    await workUntilEmpty(connections);
    expect(await findOrder(connections, orderId)).toMatchObject({
      ...{ status: 'confirmed', userId: banned, voucherId: voucher.id },
    });
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'failed' });
    expect(await findLetter(connections, letter?.id ?? '')).toMatchObject({ replayedAs: orderId });
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('that is repeated, also by several operators at once, sells one order', async () => {
    const letter = await letterOf(await buy('7'));
    const all = await Promise.all(Array.from({ length: 5 }, () => replay(letter)));
    all.push(await replay(letter));
    expect(new Set(all.map(({ orderId }) => orderId)).size).toBe(1);
    expect(all.filter(({ isFirst }) => isFirst)).toHaveLength(1);
    expect([await redisStock(), await queued()]).toEqual(['2', 1]);
    await workUntilEmpty(connections);
    expect(await replay(letter)).toEqual({ orderId: all[0]?.orderId, isFirst: false });
    expect(await queued()).toBe(0);
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('whose answer is lost is unknown, has happened once, and is named when it is repeated', async () => {
    const letter = await letterOf(await buy('7'));
    const proxy = await swallowingProxy(Number(new URL(quietRedis()).port));
    const far = testConnections({ ...settings, REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    await redis().script('LOAD', loadScript('sale/replay').source);
    far.redis('admin');
    await far.ready();
    const ids: string[] = [];
    const next = () => {
      proxy.swallowNextAnswer(); // The script is all that is left to do.
      return ids[ids.push(orderIds.next()) - 1] ?? '';
    };
    await expect(replayLetter(far, { next }, letter)).rejects.toMatchObject({
      code: 'REPLAY_UNKNOWN',
    });
    expect(await replay(letter)).toEqual({ orderId: ids[0], isFirst: false });
    expect([await redisStock(), await queued()]).toEqual(['2', 1]);
  });

  test('is refused when the voucher is sold out meanwhile, and changes nothing', async () => {
    const letter = await letterOf(await buy('7'));
    for (const userId of ['1', '2', '3']) await buy(userId);
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_SOLD_OUT' });
    expect([await redisStock(), await queued()]).toEqual(['0', 3]);
    expect(await findLetter(connections, letter)).not.toHaveProperty('replayedAs');
  });

  test('is refused when the stock is damaged, and changes nothing', async () => {
    const letter = await letterOf(await buy('7'));
    for (const damaged of ['1e3', '05', '99999999999999999999']) {
      await redis().hset(keys.voucher(voucher.id), 'stock', damaged);
      await expect(replay(letter)).rejects.toThrow();
      expect([await redisStock(), await queued()]).toEqual([damaged, 0]);
      expect(await redis().hexists(keys.buyers(voucher.id), '7')).toBe(0);
    }
  });

  test('waits while stock that came back is not sold yet, so that no instance has said sold-out wrongly', async () => {
    const [first] = [await buy('1'), await buy('2'), await buy('3')];
    const letter = await letterOf(first);
    const reopensMs = Number(await redis().hget(keys.voucher(voucher.id), 'reopensMs'));
    const { orderId } = await replay(letter);
    const [seconds] = (await redis().time()) as unknown as [string, string];
    expect((Number(seconds) + 1) * 1_000).toBeGreaterThanOrEqual(reopensMs);
    const sale = await redis().hmget(keys.voucher(voucher.id), 'stock', 'soldOutBy');
    expect(sale).toEqual(['0', orderId]);
  });

  test('is refused when the user has bought again, in Redis or in MySQL only', async () => {
    const letter = await letterOf(await buy('7'));
    const again = await buy('7');
    const refusal = { code: 'REPLAY_USER_HAS_ORDER', message: expect.stringContaining(again.id) };
    await expect(replay(letter)).rejects.toMatchObject(refusal);
    await workUntilEmpty(connections);
    await redis().hdel(keys.buyers(voucher.id), '7'); // Redis lost it.
    await expect(replay(letter)).rejects.toMatchObject(refusal);
    expect(await queued()).toBe(0);
  });

  test('is not undone by a paused worker that gives back the old order late', async () => {
    const order = await buy('7');
    const letter = await letterOf(order);
    const { orderId } = await replay(letter);
    await giveBack(order);
    expect(await redisStock()).toBe('2');
    await openStreamQueue(connections).publish(order); // As if it were delivered once more.
    await workUntilEmpty(connections);
    expect(await findOrder(connections, orderId)).toMatchObject({ status: 'confirmed' });
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'failed' });
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('makes sure that MySQL has the failed row, so that the old order is not recorded too', async () => {
    const order = await buy('7');
    const letter = await letterOf(order);
    await change(connections.mysql(), 'DELETE FROM orders WHERE id = ?', [order.id]);
    await replay(letter);
    const records = { pool: connections.mysql(), vouchers: openVouchers(connections) };
    expect(await recordOne(records, order)).not.toBe('recorded');
    await workUntilEmpty(connections);
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('of a malformed entry sells to the user that Redis had noted', async () => {
    const order = someOrder(voucher.id, '7');
    const letter = await malformedLetter(`${voucher.id}:7`, order.id);
    const { orderId } = await replay(letter);
    await workUntilEmpty(connections);
    expect(await findOrder(connections, orderId)).toMatchObject({ status: 'confirmed' });
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('of an order whose id belonged to another sells it under an id of its own', async () => {
    const owner = await buy('8');
    await workUntilEmpty(connections);
    const fields = ['orderId', owner.id, 'voucherId', voucher.id, 'userId', '7'];
    const why = ['reason', 'id-belongs-to-another-order', 'deliveries', '1'];
    const entryId = await redis().xadd(keys.dead, '*', ...why, ...fields);
    const { orderId } = await replay(`0-${entryId}`);
    await workUntilEmpty(connections);
    for (const id of [owner.id, orderId])
      expect(await findOrder(connections, id)).toMatchObject({ status: 'confirmed' });
    expect(await auditOf(voucher.id)).toMatchObject({ verdict: 'held' });
  });

  test('is impossible when nothing shows whose order it was', async () => {
    const letter = await malformedLetter(null, someOrder(voucher.id, '7').id);
    const refusal = { code: 'REPLAY_IMPOSSIBLE', message: /voucherId is missing/ };
    await expect(replay(letter)).rejects.toMatchObject({
      ...refusal,
      message: expect.stringMatching(refusal.message),
    });
    expect(await redisStock()).toBe('3');
  });

  test('is refused when MySQL has confirmed the order, and only another entry with its id failed', async () => {
    const order = await buy('7');
    await workUntilEmpty(connections);
    const letter = await malformedLetter(`${voucher.id}:7`, order.id);
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_ORDER_RECORDED' });
    expect(await findOrder(connections, order.id)).toMatchObject({ status: 'confirmed' });
    expect(await redisStock()).toBe('2');
  });

  test('of a letter that another operator discards meanwhile sells nothing', async () => {
    const letter = await letterOf(await buy('7'));
    const next = async () => {
      await discardLetter(connections, letter);
      return orderIds.next();
    };
    const late = replayLetter(connections, { next }, letter);
    await expect(late).rejects.toMatchObject({ code: 'UNKNOWN_DEAD_LETTER' });
    expect([await redisStock(), await queued()]).toEqual(['3', 0]);
  });

  test('is refused when the letter is in another shard than the sale: no script may touch both', async () => {
    const letter = await letterOf(await buy('7'));
    const sharded = testConnections({ ...settings, SALE_SHARDS: '2' });
    sharded.redis('admin');
    await sharded.ready();
    const [zero, one] = sharded.saleKeys.shards;
    const wrong = sharded.saleKeys.of(voucher.id) === zero ? '1' : '0';
    if (wrong === '1') await redis().copy(keys.dead, one?.dead ?? '');
    await expect(
      replayLetter(sharded, orderIds, letter.replace(/^0/, wrong)),
    ).rejects.toMatchObject({ code: 'REPLAY_SALE_CLOSED' });
    await redis().del(one?.dead ?? '');
  });

  test('is refused while Redis has another epoch than MySQL, or none', async () => {
    const letter = await letterOf(await buy('7'));
    const epoch = (await redis().get(keys.epoch)) ?? '';
    for (const other of ['another', null]) {
      await (other === null ? redis().del(keys.epoch) : redis().set(keys.epoch, other));
      await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_IN_OTHER_EPOCH' });
    }
    expect([await redisStock(), await queued()]).toEqual(['3', 0]);
    await redis().set(keys.epoch, epoch);
    expect(await replay(letter)).toMatchObject({ isFirst: true });
  });

  test('is refused for a voucher of another rung, of no rung, or whose sale Redis has lost', async () => {
    const other = await someVoucher(connections, { rung: 'rabbitmq' });
    const letters = [];
    for (const voucherId of [other.id, '999999999'])
      letters.push(
        await redis().xadd(
          ...[keys.dead, '*', 'reason', 'undeliverable', 'deliveries', '5'],
          ...['orderId', someOrder(voucherId, '7').id, 'voucherId', voucherId, 'userId', '7'],
        ),
      );
    const lost = await letterOf(await buy('7'));
    await redis().del(keys.voucher(voucher.id));
    for (const id of [...letters.map((entryId) => `0-${entryId}`), lost])
      await expect(replay(id)).rejects.toMatchObject({ code: 'REPLAY_SALE_CLOSED' });
    expect(await queued()).toBe(0);
  });

  test('never sells more than there is, nor twice to a user, in a rush of buyers and of operators', async () => {
    voucher = await onSale(connections, 20);
    const letters: string[] = [];
    for (const user of usersUpTo(12)) letters.push(await letterOf(await buy(String(user))));
    // Users 5 to 12 do both.
    const buying = usersUpTo(24, 5).map((user) =>
      buyOrder(connections, voucher, someOrder(voucher.id, String(user))),
    );
    const replaying = [...letters, ...letters].map((letter) => replay(letter));
    await Promise.allSettled([...replaying, ...buying]);
    await workUntilEmpty(connections);
    const { verdict, facts } = await auditOf(voucher.id);
    expect(verdict).toBe('held');
    expect([confirmed(facts).length, facts.mysql.stock, facts.redis?.stock]).toEqual([20, 0, 0]);
    expect(new Set(confirmed(facts).map(({ userId }) => userId)).size).toBe(20);
  });
});

describe('a discarded letter', () => {
  test('is gone, and its order stays failed', async () => {
    const order = await buy('7');
    const letter = await letterOf(order);
    expect(await discardLetter(connections, letter)).toMatchObject({ id: letter, userId: '7' });
    expect((await listLetters(connections, 10)).total).toBe(0);
    for (const act of [replay, (id: string) => discardLetter(connections, id)])
      await expect(act(letter)).rejects.toMatchObject({ code: 'UNKNOWN_DEAD_LETTER' });
    expect(await findOrder(connections, order.id)).toMatchObject({
      ...{ status: 'failed', reason: 'undeliverable' },
    });
    expect([await redisStock(), await queued()]).toEqual(['3', 0]);
  });

  test('leaves nothing of its replay behind but the order', async () => {
    const letter = await letterOf(await buy('7'));
    const { orderId } = await replay(letter);
    expect(await discardLetter(connections, letter)).toMatchObject({ replayedAs: orderId });
    expect([await redis().xlen(keys.dead), await redis().exists(keys.replayed)]).toEqual([0, 0]);
    await workUntilEmpty(connections);
    expect(await findOrder(connections, orderId)).toMatchObject({ status: 'confirmed' });
  });
});

describe('npx lockstep dead-letters', () => {
  const program = new URL('../../dist/bin/lockstep.js', import.meta.url).pathname;
  const lockstep = (...args: string[]) => lockstepIn({ LOCKSTEP_LAB: ownLab.folder }, ...args);
  const lockstepIn = (env: Readonly<Record<string, string>>, ...args: string[]) =>
    execa('node', [program, 'dead-letters', ...args], { env, reject: false });

  test('compares the epochs of a deployment, and writes none: what was emptied stays empty', async () => {
    const stores = await ownStores();
    const own = await startedProcess(stores);
    const redis = own.redis('admin');
    const list = () =>
      lockstepIn({ ...stores, TOKEN_SECRET: deploymentSecret }, 'list', '--deployment');
    await redis.flushdb();
    const ofEmpty = await list();
    expect([ofEmpty.exitCode, ofEmpty.stdout]).toEqual([0, 'There are no dead letters.']);
    expect(await redis.keys('*')).toEqual([]);
    await change(own.mysql(), 'DELETE FROM store_epoch', []);
    expect((await list()).exitCode).toBe(0);
    expect(await readEpoch(own.mysql())).toBe('');
    await redis.set(own.saleKeys.shards[0]?.epoch ?? '', 'of-another-service');
    const ofAnother = await list();
    expect([ofAnother.exitCode, ofAnother.stderr]).toEqual([
      2,
      expect.stringMatching(/^EPOCHS_DIFFER/),
    ]);
  });

  test('replays and discards every letter of a voucher, and says which were refused', async () => {
    const lab = testConnections();
    const main = lab.redis('admin');
    await lab.ready();
    const id = await putOnSale({ stock: 2 });
    const shard = lab.saleKeys.of(id);
    for (const user of ['7', '8', '9']) {
      const order = someOrder(id, user);
      await main.hset(shard.queued, order.id, `${id}:${user}`);
      await main.xadd(shard.orders, '*', 'orderId', order.id);
    }
    const listed = async (...filter: string[]) => {
      const { stdout } = await lockstep('list', '--voucher-id', id, ...filter, '--json');
      return (JSON.parse(stdout) as { letters: unknown[] }).letters.length;
    };
    await waitUntil('the letters', 20_000, async () => (await listed()) === 3);
    expect([await listed('--reason', 'malformed'), await listed('--reason', 'hope')]).toEqual([
      3, 0,
    ]);
    const replayed = await lockstep('replay', '--all', '--voucher-id', id);
    expect([replayed.exitCode, replayed.stdout]).toEqual([
      1,
      expect.stringMatching(/^3 letters: 2 done, 1 refused/),
    ]);
    expect(replayed.stdout).toContain('REPLAY_');
    const discarded = await lockstep('discard', '--all', '--voucher-id', id, '--json');
    expect(discarded.exitCode).toBe(0);
    expect(JSON.parse(discarded.stdout)).toMatchObject({ done: { length: 3 }, refused: [] });
    expect(await listed()).toBe(0);
  });

  test('lists, shows, replays and discards a letter of the running lab', async () => {
    const lab = testConnections();
    const main = lab.redis('admin');
    await lab.ready();
    const id = await putOnSale({ stock: 2 });
    const shard = lab.saleKeys.of(id);
    const order = someOrder(id, '7');
    await main.hset(shard.queued, order.id, `${id}:7`);
    await main.xadd(shard.orders, '*', 'orderId', order.id, 'nonsense', '\u001b[2J');
    const own = async () =>
      (await listLetters(lab, 10_000)).letters.find(({ orderId }) => orderId === order.id)?.id;
    await waitUntil('the letter', 20_000, async () => (await own()) !== undefined);
    const letter = (await own()) ?? '';

    const [listed, shown, unnamed] = await Promise.all([
      lockstep('list', '--most', '10000'),
      lockstep('show', letter),
      lockstep('replay'),
    ]);
    expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringContaining(letter)]);
    expect([unnamed.exitCode, unnamed.stderr]).toEqual([
      2,
      expect.stringMatching(/^LETTER_ID_MISSING/),
    ]);
    expect(shown.stdout).toContain('malformed: voucherId is missing');
    expect(shown.stdout).toContain(`order ${order.id}: failed (malformed)`);
    expect(shown.stdout).toContain('nonsense=\\u001b[2J');
    const replayed = await lockstep('replay', letter, '--json');
    const { orderId } = JSON.parse(replayed.stdout) as { orderId: string };
    const isRecorded = async () => (await findOrder(lab, orderId))?.status === 'confirmed';
    await waitUntil('the order of the replay', 20_000, isRecorded);
    const [row] = await select<{ stock: number }>(
      lab.mysql(),
      'SELECT stock FROM seckill_stock WHERE voucher_id = ?',
      [id],
    );
    expect(row?.stock).toBe(1);
    const discarded = await lockstep('discard', letter);
    expect([discarded.exitCode, await own()]).toEqual([0, undefined]);
    const gone = await lockstep('show', letter);
    expect([gone.exitCode, gone.stderr]).toEqual([
      2,
      expect.stringMatching(/^UNKNOWN_DEAD_LETTER/),
    ]);
  });
});
