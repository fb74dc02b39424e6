/**
 * The dead letters of the final rung, as an operator handles them: listed, replayed once and only
 * while it is safe, discarded.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { audit } from '../../src/service/audit/audit.ts';
import { confirmed } from '../../src/service/audit/facts.ts';
import { readEpoch } from '../../src/service/connections/connections.ts';
import { change } from '../../src/service/connections/mysql.ts';
import { loadScript } from '../../src/service/connections/scripts.ts';
import type { Order } from '../../src/service/domain.ts';
import { findOrder } from '../../src/service/orders/find-order.ts';
import {
  discardLetter,
  findLetter,
  listLetters,
  replayLetter,
} from '../../src/service/orders/letters.ts';
import { recordOne } from '../../src/service/orders/record-orders.ts';
import { someFolder } from '../support/basics.ts';
import { deploymentSecret, putOnSale } from '../support/client.ts';
import { quietRedis, readyConnections } from '../support/connections.ts';
import { lockstep, lockstepWith } from '../support/lockstep.ts';
import { type OwnSale, quietSale } from '../support/own-sale.ts';
import { ownStores, startedProcess } from '../support/own-stores.ts';
import {
  factsOf,
  openStreamQueue,
  someOrder,
  someVoucher,
  someVoucherId,
  usersUpTo,
} from '../support/sale.ts';
import { proxyBefore } from '../support/test-proxy.ts';

let sale: OwnSale;

beforeEach(async () => {
  sale = await quietSale({ stock: 3 });
});

const orderIds = { next: () => someOrder('1', '1').id };
const replay = (id: string) => replayLetter(sale.connections, orderIds, id);
const discard = (id: string) => discardLetter(sale.connections, id);
const letterNamed = (id: string) => findLetter(sale.connections, id);
const list = (most = 1_000) => listLetters(sale.connections, most);
const queued = () => sale.redis.xlen(sale.keys.orders);
const left = async () => [await sale.stockInRedis(), await queued()];
const twoShards = () => sale.otherProcess({ SALE_SHARDS: '2' });
const refused = (asked: Promise<unknown>, code: string) =>
  expect(asked).rejects.toMatchObject({ code });

/** As the worker does at the fifth refusal. @returns the id of its letter. */
async function letterOf(order: Order): Promise<string> {
  await sale.deadLetter(order);
  const entries = await sale.redis.xrange(sale.keys.orders, '-', '+');
  const own = entries.filter(([, fields]) => fields.includes(order.id)).map(([id]) => id);
  await sale.redis.xdel(sale.keys.orders, ...own);
  await sale.redis.hdel(sale.keys.queued, order.id);
  const { letters } = await list();
  return letters.find(({ orderId }) => orderId === order.id)?.id ?? 'missing';
}

/** The whole sale, as `npx lockstep audit` judges it. */
async function audited() {
  const facts = await sale.facts();
  return { verdict: audit(facts).verdict, facts };
}

/** The letter of an entry that the worker cannot read, for an order that Redis has noted. */
async function malformedLetter(noted: string | null, orderId: string): Promise<string> {
  if (noted !== null) await sale.redis.hset(sale.keys.queued, orderId, noted);
  await sale.redis.xadd(sale.keys.orders, '*', 'orderId', orderId, 'nonsense', '1');
  await sale.record();
  return (await list()).letters.at(-1)?.id ?? 'missing';
}

describe('a dead letter', () => {
  test('says which order of which user failed, why, after how many deliveries, and when', async () => {
    const order = await sale.bought(7);
    const before = Date.now();
    const id = await letterOf(order);
    const letter = await letterNamed(id);
    expect(letter).toMatchObject({
      ...{ reason: 'undeliverable', deliveries: 5, isOwnerKnown: true },
      ...{ orderId: order.id, voucherId: sale.id, userId: '7' },
    });
    expect(Math.abs(Date.parse(letter.deadAt) - before)).toBeLessThan(60_000);
    const fields = ['orderId', order.id, 'voucherId', sale.id, 'userId', '7'];
    expect(letter.entry).toEqual([...fields, 'requestId', order.requestId]);
  });

  test('of a malformed entry has the entry, and the user that Redis had noted and who may buy', async () => {
    const order = sale.order(7);
    const letter = await findLetter(
      sale.connections,
      await malformedLetter(`${sale.id}:7`, order.id),
    );
    expect(letter).toMatchObject({
      ...{ reason: 'malformed', cause: 'voucherId is missing', deliveries: 1, isOwnerKnown: true },
      ...{ orderId: order.id, voucherId: sale.id, userId: '7' },
    });
    expect(letter.entry).toEqual(['orderId', order.id, 'nonsense', '1']);
    const { orderId } = await replay(letter.id);
    await sale.record();
    await sale.expectConfirmed({ id: orderId });
    expect((await audited()).verdict).toBe('held');
  });

  test('is listed with those of all shards, the oldest first, and no more than were asked for', async () => {
    const sharded = await twoShards();
    const [first = '', second = ''] = sharded.saleKeys.shards.map(({ dead }) => dead);
    await sale.redis.del(first, second);
    for (const [number, stream] of [first, second, first].entries())
      await sale.redis.xadd(stream, `${number + 1}-1`, 'reason', 'undeliverable');
    const { total, letters } = await listLetters(sharded, 2);
    expect([total, letters.map(({ id }) => id)]).toEqual([3, ['0-1-1', '1-2-1']]);
    await sale.redis.del(first, second);
  });

  test.each(['0-1-1', '1-1-1', '99-1-1', '7', 'nonsense', '', '0-1'])(
    'that does not exist is refused by its id: %j',
    async (id) => {
      for (const act of [replay, discard]) await refused(act(id), 'UNKNOWN_DEAD_LETTER');
    },
  );
});

describe('a replay', () => {
  test('of an order that MySQL refused sells it again once MySQL takes it, and the old order stays failed', async () => {
    const banned = someVoucherId();
    const lift = await sale.ban('user_id', banned);
    const order = await sale.bought(banned);
    await sale.record();
    const [letter] = (await list(10)).letters;
    expect(letter).toMatchObject({ reason: 'undeliverable', userId: banned });
    expect(letter?.deliveries).toBeGreaterThanOrEqual(5);
    await lift();
    const { orderId, isFirst } = await replay(letter?.id ?? '');
    expect(isFirst).toBe(true);
    expect(orderId).not.toBe(order.id);
    expect(await sale.find({ id: orderId })).toMatchObject({ status: 'queued' });
    await sale.record();
    const known = { userId: banned, voucherId: sale.id };
    expect(await sale.find({ id: orderId })).toMatchObject({ ...known, status: 'confirmed' });
    expect(await sale.find(order)).toMatchObject({ status: 'failed' });
    expect(await letterNamed(letter?.id ?? '')).toMatchObject({ replayedAs: orderId });
    expect((await audited()).verdict).toBe('held');
  });

  test('that is repeated, also by several operators at once, sells one order', async () => {
    const letter = await letterOf(await sale.bought(7));
    const all = await Promise.all(Array.from({ length: 5 }, () => replay(letter)));
    all.push(await replay(letter));
    expect(new Set(all.map(({ orderId }) => orderId)).size).toBe(1);
    expect(all.filter(({ isFirst }) => isFirst)).toHaveLength(1);
    expect(await left()).toEqual([2, 1]);
    await sale.record();
    expect(await replay(letter)).toEqual({ orderId: all[0]?.orderId, isFirst: false });
    expect(await queued()).toBe(0);
    expect((await audited()).verdict).toBe('held');
  });

  test('whose answer is lost is unknown, has happened once, and is named when it is repeated', async () => {
    const letter = await letterOf(await sale.bought(7));
    const proxy = await proxyBefore(quietRedis());
    const far = await sale.otherProcess({ REDIS_URL: proxy.url });
    await sale.redis.script('LOAD', loadScript('sale/replay').source);
    const ids: string[] = [];
    const next = () => {
      proxy.swallowNextAnswer(); // The script is all that is left to do.
      return ids[ids.push(orderIds.next()) - 1] ?? '';
    };
    await refused(replayLetter(far, { next }, letter), 'REPLAY_UNKNOWN');
    expect(await replay(letter)).toEqual({ orderId: ids[0], isFirst: false });
    expect(await left()).toEqual([2, 1]);
  });

  test('is refused when the voucher is sold out meanwhile, and changes nothing', async () => {
    const letter = await letterOf(await sale.bought(7));
    for (const user of [1, 2, 3]) await sale.bought(user);
    await refused(replay(letter), 'REPLAY_SOLD_OUT');
    expect(await left()).toEqual([0, 3]);
    expect(await letterNamed(letter)).not.toHaveProperty('replayedAs');
  });

  test('is refused when the stock is damaged, and changes nothing', async () => {
    const letter = await letterOf(await sale.bought(7));
    for (const damaged of ['1e3', '05', '99999999999999999999']) {
      await sale.redis.hset(sale.keys.voucher(sale.id), 'stock', damaged);
      await expect(replay(letter)).rejects.toThrow();
      expect([(await sale.inRedis())['stock'], await queued()]).toEqual([damaged, 0]);
      expect(await sale.buyer(7)).toBeNull();
    }
  });

  test('waits while stock that came back is not sold yet, so that no instance has said sold-out wrongly', async () => {
    const [first] = [await sale.bought(1), await sale.bought(2), await sale.bought(3)];
    const letter = await letterOf(first);
    const { reopensMs } = await sale.inRedis();
    const { orderId } = await replay(letter);
    const [seconds] = (await sale.redis.time()) as unknown as [string, string];
    expect((Number(seconds) + 1) * 1_000).toBeGreaterThanOrEqual(Number(reopensMs));
    expect(await sale.inRedis()).toMatchObject({ stock: '0', soldOutBy: orderId });
  });

  test('is refused when the user has bought again, in Redis or in MySQL only', async () => {
    const letter = await letterOf(await sale.bought(7));
    const again = await sale.bought(7);
    const refusal = { code: 'REPLAY_USER_HAS_ORDER', message: expect.stringContaining(again.id) };
    await expect(replay(letter)).rejects.toMatchObject(refusal);
    await sale.record();
    await sale.redis.hdel(sale.keys.buyers(sale.id), '7'); // Redis lost it.
    await expect(replay(letter)).rejects.toMatchObject(refusal);
    expect(await queued()).toBe(0);
  });

  test('is not undone by a paused worker that gives back the old order late', async () => {
    const order = await sale.bought(7);
    const letter = await letterOf(order);
    const { orderId } = await replay(letter);
    await sale.deadLetter(order);
    expect(await sale.stockInRedis()).toBe(2);
    await openStreamQueue(sale.connections).publish(order); // As if it were delivered once more.
    await sale.record();
    await sale.expectConfirmed({ id: orderId });
    expect(await sale.find(order)).toMatchObject({ status: 'failed' });
    expect((await audited()).verdict).toBe('held');
  });

  test('makes sure that MySQL has the failed row, so that the old order is not recorded too', async () => {
    const order = await sale.bought(7);
    const letter = await letterOf(order);
    await change(sale.pool, 'DELETE FROM orders WHERE id = ?', [order.id]);
    await replay(letter);
    expect(await recordOne(sale.records, order)).not.toBe('recorded');
    await sale.record();
    expect((await audited()).verdict).toBe('held');
  });

  test('of an order whose id belonged to another sells it under an id of its own', async () => {
    const owner = await sale.bought(8);
    await sale.record();
    const fields = ['orderId', owner.id, 'voucherId', sale.id, 'userId', '7'];
    const why = ['reason', 'id-belongs-to-another-order', 'deliveries', '1'];
    const entryId = await sale.redis.xadd(sale.keys.dead, '*', ...why, ...fields);
    const { orderId } = await replay(`0-${entryId}`);
    await sale.record();
    await sale.expectConfirmed(owner, { id: orderId });
    expect((await audited()).verdict).toBe('held');
  });

  test('is impossible when nothing shows whose order it was', async () => {
    const letter = await malformedLetter(null, sale.order(7).id);
    const message: unknown = expect.stringContaining('voucherId is missing');
    await expect(replay(letter)).rejects.toMatchObject({ code: 'REPLAY_IMPOSSIBLE', message });
    expect(await sale.stockInRedis()).toBe(3);
  });

  test('is refused when MySQL has confirmed the order, and only another entry with its id failed', async () => {
    const order = await sale.bought(7);
    await sale.record();
    const letter = await malformedLetter(`${sale.id}:7`, order.id);
    await refused(replay(letter), 'REPLAY_ORDER_RECORDED');
    await sale.expectConfirmed(order);
    expect(await sale.stockInRedis()).toBe(2);
  });

  test('of a letter that another operator discards meanwhile sells nothing', async () => {
    const letter = await letterOf(await sale.bought(7));
    const next = async () => {
      await discard(letter);
      return orderIds.next();
    };
    await refused(replayLetter(sale.connections, { next }, letter), 'UNKNOWN_DEAD_LETTER');
    expect(await left()).toEqual([3, 0]);
  });

  test('is refused when the letter is in another shard than the sale: no script may touch both', async () => {
    const letter = await letterOf(await sale.bought(7));
    const sharded = await twoShards();
    const [zero, one] = sharded.saleKeys.shards;
    const wrong = sharded.saleKeys.of(sale.id) === zero ? '1' : '0';
    if (wrong === '1') await sale.redis.copy(sale.keys.dead, one?.dead ?? '');
    const inWrong = letter.replace(/^0/, wrong);
    await refused(replayLetter(sharded, orderIds, inWrong), 'REPLAY_SALE_CLOSED');
    await sale.redis.del(one?.dead ?? '');
  });

  test('is refused while Redis has another epoch than MySQL, or none', async () => {
    const letter = await letterOf(await sale.bought(7));
    const epoch = (await sale.redis.get(sale.keys.epoch)) ?? '';
    await sale.redis.set(sale.keys.epoch, 'another');
    await refused(replay(letter), 'REPLAY_IN_OTHER_EPOCH');
    await sale.redis.del(sale.keys.epoch);
    await refused(replay(letter), 'REPLAY_IN_OTHER_EPOCH');
    expect(await left()).toEqual([3, 0]);
    await sale.redis.set(sale.keys.epoch, epoch);
    expect(await replay(letter)).toMatchObject({ isFirst: true });
  });

  test('is refused for a voucher of another rung, of no rung, or whose sale Redis has lost', async () => {
    const other = await someVoucher(sale.connections, { rung: 'rabbitmq' });
    const why = ['reason', 'undeliverable', 'deliveries', '5'];
    for (const voucherId of [other.id, '999999999']) {
      const of = ['orderId', someOrder(voucherId, '7').id, 'voucherId', voucherId, 'userId', '7'];
      const entryId = await sale.redis.xadd(sale.keys.dead, '*', ...why, ...of);
      await refused(replay(`0-${entryId}`), 'REPLAY_SALE_CLOSED');
    }
    const lost = await letterOf(await sale.bought(7));
    await sale.redis.del(sale.keys.voucher(sale.id));
    await refused(replay(lost), 'REPLAY_SALE_CLOSED');
    expect(await queued()).toBe(0);
  });

  test('never sells more than there is, nor twice to a user, in a rush of buyers and of operators', async () => {
    sale = await sale.another({ stock: 20 });
    const letters: string[] = [];
    for (const user of usersUpTo(12)) letters.push(await letterOf(await sale.bought(user)));
    const buying = usersUpTo(24, 5).map((user) => sale.buy(user)); // Users 5 to 12 do both.
    const replaying = [...letters, ...letters].map((letter) => replay(letter));
    await Promise.allSettled([...replaying, ...buying]);
    await sale.record();
    const { verdict, facts } = await audited();
    expect(verdict).toBe('held');
    expect([confirmed(facts).length, facts.mysql.stock, facts.redis?.stock]).toEqual([20, 0, 0]);
    expect(new Set(confirmed(facts).map(({ userId }) => userId)).size).toBe(20);
  });
});

describe('a discarded letter', () => {
  test('is gone, and its order stays failed', async () => {
    const order = await sale.bought(7);
    const letter = await letterOf(order);
    expect(await discard(letter)).toMatchObject({ id: letter, userId: '7' });
    expect((await list(10)).total).toBe(0);
    for (const act of [replay, discard]) await refused(act(letter), 'UNKNOWN_DEAD_LETTER');
    const failed = { status: 'failed', reason: 'undeliverable' };
    expect(await sale.find(order)).toMatchObject(failed);
    expect(await left()).toEqual([3, 0]);
  });

  test('leaves nothing of its replay behind but the order', async () => {
    const letter = await letterOf(await sale.bought(7));
    const { orderId } = await replay(letter);
    expect(await discard(letter)).toMatchObject({ replayedAs: orderId });
    expect([await sale.letters(), await sale.redis.exists(sale.keys.replayed)]).toEqual([[], 0]);
    await sale.record();
    await sale.expectConfirmed({ id: orderId });
  });
});

describe('npx lockstep dead-letters', () => {
  const command = (...words: readonly string[]) => lockstep('dead-letters', ...words);
  /** Of the lab: the workers of its service make the letters. */
  async function labSale() {
    const lab = await readyConnections();
    const redis = lab.redis('admin');
    const id = await putOnSale({ stock: 2 });
    const { queued, orders } = lab.saleKeys.of(id);
    const poison = async (user: number, ...more: string[]) => {
      const order = someOrder(id, String(user));
      await redis.hset(queued, order.id, `${id}:${user}`);
      await redis.xadd(orders, '*', 'orderId', order.id, ...more);
      return order;
    };
    return { lab, id, poison };
  }
  const failedWith = (code: string) => [2, expect.stringMatching(new RegExp(`^${code}`))];

  test('compares the epochs of a deployment, and writes none: what was emptied stays empty', async () => {
    const stores = await ownStores();
    const own = await startedProcess(stores);
    const redis = own.redis('admin');
    const noLab = { LOCKSTEP_LAB: someFolder() };
    const deployment = { ...stores, ...noLab, TOKEN_SECRET: deploymentSecret };
    const listed = () => lockstepWith(deployment, 'dead-letters', 'list', '--deployment');
    await redis.flushdb();
    const ofEmpty = await listed();
    expect([ofEmpty.exitCode, ofEmpty.stdout]).toEqual([0, 'There are no dead letters.']);
    expect(await redis.keys('*')).toEqual([]);
    await change(own.mysql(), 'DELETE FROM store_epoch', []);
    expect((await listed()).exitCode).toBe(0);
    expect(await readEpoch(own.mysql())).toBe('');
    await redis.set(own.saleKeys.shards[0]?.epoch ?? '', 'of-another-service');
    const ofAnother = await listed();
    expect([ofAnother.exitCode, ofAnother.stderr]).toEqual(failedWith('EPOCHS_DIFFER'));
  });

  test('replays and discards every letter of a voucher, and says which were refused', async () => {
    const { id, poison } = await labSale();
    for (const user of [7, 8, 9]) await poison(user);
    const listed = async (...filter: string[]) => {
      const { stdout } = await command('list', '--voucher-id', id, ...filter, '--json');
      return (JSON.parse(stdout) as { letters: unknown[] }).letters.length;
    };
    await waitUntil('the letters', 20_000, async () => (await listed()) === 3);
    const ofReason = ['malformed', 'hope'].map((reason) => listed('--reason', reason));
    expect(await Promise.all(ofReason)).toEqual([3, 0]);
    const replayed = await command('replay', '--all', '--voucher-id', id);
    expect(replayed.exitCode).toBe(1);
    expect(replayed.stdout).toMatch(/^3 letters: 2 done, 1 refused[\s\S]*REPLAY_/);
    const discarded = await command('discard', '--all', '--voucher-id', id, '--json');
    expect(discarded.exitCode).toBe(0);
    expect(JSON.parse(discarded.stdout)).toMatchObject({ done: { length: 3 }, refused: [] });
    expect(await listed()).toBe(0);
  });

  test('lists, shows, replays and discards a letter of the running lab', async () => {
    const { lab, id, poison } = await labSale();
    const order = await poison(7, 'nonsense', '\u001b[2J');
    const own = async () =>
      (await listLetters(lab, 10_000)).letters.find(({ orderId }) => orderId === order.id)?.id;
    await waitUntil('the letter', 20_000, async () => (await own()) !== undefined);
    const letter = (await own()) ?? '';

    const [listed, shown, unnamed] = await Promise.all([
      command('list', '--most', '10000'),
      command('show', letter),
      command('replay'),
    ]);
    expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringContaining(letter)]);
    expect([unnamed.exitCode, unnamed.stderr]).toEqual(failedWith('LETTER_ID_MISSING'));
    expect(shown.stdout).toContain('malformed: voucherId is missing');
    expect(shown.stdout).toContain(`order ${order.id}: failed (malformed)`);
    expect(shown.stdout).toContain('nonsense=\\u001b[2J');
    const replayed = await command('replay', letter, '--json');
    const { orderId } = JSON.parse(replayed.stdout) as { orderId: string };
    const isRecorded = async () => (await findOrder(lab, orderId))?.status === 'confirmed';
    await waitUntil('the order of the replay', 20_000, isRecorded);
    expect((await factsOf(lab, id)).mysql.stock).toBe(1);
    const discarded = await command('discard', letter);
    expect([discarded.exitCode, await own()]).toEqual([0, undefined]);
    const gone = await command('show', letter);
    expect([gone.exitCode, gone.stderr]).toEqual(failedWith('UNKNOWN_DEAD_LETTER'));
  });
});
