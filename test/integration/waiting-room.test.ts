/** The waiting room: places are called in their order, and only users with a pass buy. */
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { agreeOnEpoch } from '../../src/service/connections/epoch.ts';
import type { Outcome, Voucher } from '../../src/service/domain.ts';
import { openWaitingRoom, passes, type WaitingRoom } from '../../src/service/http/waiting-room.ts';
import { removeEndedSales } from '../../src/service/orders/ended-sales.ts';
import { changeSale } from '../../src/service/orders/voucher-changes.ts';
import { buy, call, operate, place, putOnSale } from '../support/client.ts';
import { quiet, readyConnections } from '../support/connections.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { onSale, someVoucher, usersUpTo } from '../support/sale.ts';
import { startOwnRedis } from '../support/servers.ts';

const accepted: Outcome = { kind: 'accepted', orderId: '1', status: 'queued' };
const passesAtOnce = 3;
const hourMs = 3_600_000;

describe('a line', () => {
  let connections: Connections;
  let room: WaitingRoom;
  let voucher: Voucher;

  const enter = async (settings: Readonly<Record<string, string>> = {}) => {
    connections = await openProcess({ ...(await ownStores()), ...settings });
    room = openWaitingRoom(connections);
    voucher = await onSale(connections, 1_000, undefined, { passesAtOnce });
  };
  beforeEach(() => enter());

  const redis = () => connections.redis('admin');
  const keys = (of = voucher) => connections.saleKeys.of(of.id);
  const place = async (user: number, of = voucher) => {
    const found = await room.place(of, String(user));
    if (!found) throw new Error('the sale has ended');
    return found;
  };
  const arrive = async (users: readonly number[]) => {
    for (const user of users) await place(user);
  };
  const withPass = async (users: readonly number[]) => {
    const found: number[] = [];
    for (const user of users) if ((await place(user)).pass !== undefined) found.push(user);
    return found;
  };
  /** Redis answers in the order of the commands: so this one is done when it returns. */
  const leave = async (user: number, outcome: Outcome = accepted) => {
    room.leave({ voucherId: voucher.id, userId: String(user) }, outcome);
    await redis().ping();
  };
  const eventually = (what: string, condition: () => Promise<boolean>) =>
    waitUntil(what, 10_000, condition);

  test('gives each user the next place, and always the same one', async () => {
    const numbers = [];
    for (const user of [70, 50, 70, 60, 50]) numbers.push((await place(user)).place);
    expect(numbers).toEqual([1, 2, 1, 3, 2]);
  });

  test('gives places of 500 users who come at once to each one, without a gap', async () => {
    const places = await Promise.all(usersUpTo(500).map((user) => place(user)));
    const numbers = places.map((each) => each.place).sort((a, b) => a - b);
    expect(numbers).toEqual(usersUpTo(500));
    expect(places.filter(({ pass }) => pass !== undefined)).toHaveLength(passesAtOnce);
  });

  test('gives so many passes at once, to the first places', async () => {
    await arrive(usersUpTo(8));
    expect(await withPass(usersUpTo(8))).toEqual([1, 2, 3]);
    expect(await place(8)).toMatchObject({ place: 8, called: 3 });
  });

  test('moves on by one place when a pass is used, however often it is used', async () => {
    await arrive(usersUpTo(8));
    for (let times = 0; times < 3; times++) await leave(2);
    expect(await withPass([5, 6, 7, 8])).toEqual([]); // Place 4 is called.
    expect(await withPass([1, 3, 4, 5, 6, 7, 8])).toEqual([1, 3, 4]);
  });

  test.each<[string, boolean, Outcome]>([
    ['sold-out', true, { kind: 'refused', reason: 'sold-out' }],
    ['already-ordered', true, { kind: 'refused', reason: 'already-ordered' }],
    ['ended', true, { kind: 'refused', reason: 'ended' }],
    ['busy', false, { kind: 'refused', reason: 'busy' }],
    ['not-ready', false, { kind: 'refused', reason: 'not-ready' }],
    ['sale-paused', false, { kind: 'refused', reason: 'sale-paused' }],
    ['unknown', false, { kind: 'unknown', orderId: '1', cause: 'lost' }],
  ])('after the outcome %s the turn is over: %s', async (_, isOver, outcome) => {
    await arrive(usersUpTo(4));
    await leave(1, outcome);
    expect(await withPass([4])).toEqual(isOver ? [4] : []);
  });

  test('moves on when a pass lapses, and its user goes to the end', async () => {
    await enter({ PASS_MS: '3000' });
    await arrive(usersUpTo(5));
    const { passUntil } = await place(1);
    await eventually('the next turn', async () => (await withPass([4])).length === 1);
    expect(Date.now()).toBeGreaterThanOrEqual((passUntil?.getTime() ?? Infinity) - 5);
    await eventually('its end', async () => Date.now() > (passUntil?.getTime() ?? Infinity));
    expect((await place(1)).place).toBe(6);
  });

  test('does not wait for users who are called and do not come', async () => {
    await arrive(usersUpTo(12));
    for (const user of [1, 2, 3]) await leave(user);
    const came = new Set<number>();
    await eventually('the last turns', async () => {
      for (const user of await withPass([10, 11, 12])) came.add(user);
      return came.size === passesAtOnce; // Nobody asks for the places 4 to 9.
    });
    await leave(10);
    expect(await withPass([5])).toEqual([5]); // It kept its place.
  });

  test('gives nobody who was called more passes than there are, however many come back', async () => {
    await arrive(usersUpTo(12));
    for (const user of [1, 2, 3]) await leave(user);
    await eventually('the last turns', async () => (await withPass([12])).length === 1);
    expect(await withPass(usersUpTo(9, 4))).toHaveLength(passesAtOnce);
  });

  test('gives no pass before the sale begins, nor while it is paused or being rebuilt', async () => {
    const begin = await onSale(connections, 10, undefined, {
      ...{ passesAtOnce, beginTime: new Date(Date.now() + 30_000) },
    });
    expect(await place(1, begin)).toMatchObject({ place: 1, called: 0 });
    expect((await place(1, begin)).askAgainSeconds).toBeGreaterThanOrEqual(20);
    await redis().hset(keys().voucher(voucher.id), 'paused', '1');
    expect(await place(1)).toMatchObject({ place: 1, called: 0 });
    await redis().hdel(keys().voucher(voucher.id), 'paused');
    connections.epoch.set('another');
    expect(await place(1)).toMatchObject({ place: 1, called: 0 });
    connections.epoch.set('');
    expect((await place(1)).pass).toBeDefined();
  });

  test('keeps the pass of a user who asks during a pause, however long it is', async () => {
    await enter({ PASS_MS: '3000' });
    await arrive(usersUpTo(5));
    await redis().hset(keys().voucher(voucher.id), 'paused', '1');
    const { passUntil } = await place(2);
    await eventually('its end', async () => Date.now() > (passUntil?.getTime() ?? Infinity));
    await place(6); // A new user changes the line.
    const again = await place(2);
    expect(again).toMatchObject({ place: 2, pass: expect.any(String) });
    expect(again.passUntil?.getTime()).toBeGreaterThan(Date.now());
    await redis().hdel(keys().voucher(voucher.id), 'paused');
    expect((await place(2)).place).toBe(2);
  });

  test('says when to ask again: by its speed, and within a minute', async () => {
    await arrive(usersUpTo(9));
    const { askAgainSeconds } = await place(9); // Three passes in two seconds.
    expect(askAgainSeconds).toBe(4);
    const key = keys().room(voucher.id);
    await redis().hset(key, { perSecond: '3', measuredMs: String(Date.now() + 60_000) });
    expect((await place(9)).askAgainSeconds).toBe(2);
    await redis().hset(key, { perSecond: '0.1' }); // Since nobody asked, perhaps.
    expect((await place(9)).askAgainSeconds).toBe(4);
    await redis().hset(key, { last: 100_000 });
    expect((await place(10)).askAgainSeconds).toBe(60);
  });

  test('says when the sale begins, also where an operator has moved that', async () => {
    await agreeOnEpoch(connections, quiet);
    const soon = await onSale(connections, 10, 2 * hourMs, {
      ...{ passesAtOnce, beginTime: new Date(Date.now() + hourMs) },
    });
    await changeSale(connections, soon.id, '9', { beginTime: new Date(Date.now() + 20_000) });
    expect((await place(1, soon)).askAgainSeconds).toBeLessThanOrEqual(20);
    expect((await place(1, soon)).askAgainSeconds).toBeGreaterThanOrEqual(10);
    await changeSale(connections, soon.id, '9', { beginTime: new Date(Date.now() - 1_000) });
    expect((await place(1, soon)).pass).toBeDefined();
  });

  test('leaves nothing in Redis for long after a sale that was closed early', async () => {
    await agreeOnEpoch(connections, quiet);
    await place(1);
    await changeSale(connections, voucher.id, '9', { endTime: new Date(Date.now() + 9 * hourMs) });
    const waiting = keys().waiting(voucher.id);
    const leftMs = () => Promise.all(waiting.map((key) => redis().pttl(key)));
    for (const ms of await leftMs()) expect(ms).toBeGreaterThan(32 * hourMs);
    await changeSale(connections, voucher.id, '9', { endTime: 'now' });
    for (const ms of await leftMs()) {
      expect(ms).toBeGreaterThan(23 * hourMs);
      expect(ms).toBeLessThanOrEqual(24 * hourMs);
    }
    expect(await removeEndedSales(connections, 0)).toMatchObject({ removed: [voucher.id] });
    expect(await redis().exists(waiting)).toBe(0);
  });

  test('measures its speed', async () => {
    await arrive(usersUpTo(9));
    const key = keys().room(voucher.id);
    await redis().hset(key, { measuredMs: String(Date.now() - 10_000), measured: '1' });
    await place(10);
    expect(Number(await redis().hget(key, 'perSecond'))).toBeCloseTo(0.2, 1);
  });

  test('leaves nothing in Redis for ever', async () => {
    await place(1);
    for (const key of keys().waiting(voucher.id))
      expect(await redis().pttl(key)).toBeGreaterThan(0);
  });

  test('takes no place while the memory of Redis is full', async () => {
    const full = await startOwnRedis({ maxmemory: '1' });
    connections = await openProcess({ ...(await ownStores()), REDIS_URL: full.url });
    room = openWaitingRoom(connections);
    await expect(room.place(voucher, '1')).rejects.toThrow('OOM');
    expect(await redis().exists(keys().waiting(voucher.id))).toBe(0);
  });

  test('of another voucher is another line', async () => {
    const other = await onSale(connections, 10, undefined, { passesAtOnce });
    await arrive(usersUpTo(5));
    expect((await place(9, other)).place).toBe(1);
  });

  test('begins and ends when the sale in Redis does, whatever this process remembers', async () => {
    const key = keys().voucher(voucher.id);
    await redis().hset(key, 'beginMs', String(Date.now() + 30_000));
    expect((await place(1)).called).toBe(0);
    await redis().hset(key, { beginMs: '1', endMs: String(Date.now() - 1) });
    expect(await room.place(voucher, '1')).toBeNull();
  });

  test('signs with the secret of before while there is one: every instance knows it', async () => {
    const [before, now] = [
      'the secret of before, 32 letters',
      'the secret from now on, 32 letters',
    ];
    await enter({ TOKEN_SECRET: now, TOKEN_SECRET_BEFORE: before });
    const { pass = '' } = await place(1);
    const bearer = { voucherId: voucher.id, userId: '1' };
    expect(passes([before]).isPass(pass, bearer)).toBe(true);
    expect(room.isPass(pass, bearer)).toBe(true);
    expect(room.isPass(passes([now]).sign(bearer, Date.now() + 60_000), bearer)).toBe(true);
  });

  test('of a voucher in MySQL begins and ends as the voucher says', async () => {
    const sql = { passesAtOnce, rung: 'row-lock' };
    expect((await place(1, await someVoucher(connections, sql))).pass).toBeDefined();
    const beginTime = new Date(Date.now() + 30_000);
    expect((await place(1, await someVoucher(connections, { ...sql, beginTime }))).called).toBe(0);
    const over = await someVoucher(connections, { ...sql, endTime: new Date(Date.now() - 1_000) });
    expect(await room.place(over, '1')).toBeNull();
  });
});

describe('over HTTP', () => {
  const close = async (voucherId: string) => {
    const closed = await operate('PATCH', `/vouchers/${voucherId}`, { endTime: 'now' });
    expect(closed.status).toBe(200);
  };
  /** What new users are told at last: each instance looks at the stock once in a second. */
  const waitUntilOver = async (voucherId: string, hasRoom: boolean) => {
    const isOver = async () => {
      const told = await Promise.all(
        usersUpTo(8, 50).flatMap((user) => [
          buy(voucherId, user),
          ...(hasRoom ? [place(voucherId, user)] : []),
        ]),
      );
      return [...new Set(told.map(({ httpStatus }) => httpStatus))];
    };
    await waitUntil('every instance to say so', 20_000, async () => (await isOver()).length === 1);
    return isOver();
  };
  /** Every instance says so: each looks once in a second. */
  const soldOut = (voucherId: string) =>
    waitUntil('it is sold out', 20_000, async () => {
      const answers = await Promise.all(usersUpTo(8).map((user) => place(voucherId, user)));
      return answers.every(({ code }) => code === 'sold-out');
    });
  const shown = async (voucherId: string) => (await call(`/vouchers/${voucherId}`)).json();

  test('a purchase without a pass sells nothing, and says where there is one', async () => {
    const voucherId = await putOnSale({ passesAtOnce });
    const refused = await buy(voucherId, '7');
    expect(refused).toMatchObject({ httpStatus: 403, code: 'pass-required' });
    expect(refused).toMatchObject({ detail: `POST /vouchers/${voucherId}/place gives one.` });
    expect(await shown(voucherId)).toMatchObject({ remaining: 5, passesAtOnce });
  });

  test('the pass of its turn lets a user buy, and a repeated request is the same order', async () => {
    const voucherId = await putOnSale({ passesAtOnce: 1 });
    const { pass = '' } = await place(voucherId, '7');
    const second = await place(voucherId, '8');
    expect(second).toMatchObject({ place: 2, askAgainSeconds: 2, retryAfter: '2' });
    const headers = { 'purchase-pass': pass, 'idempotency-key': 'first' };
    const bought = await buy(voucherId, '7', headers);
    expect(bought.httpStatus).toBe(202);
    await waitUntil('the turn', 20_000, async () => !!(await place(voucherId, '8')).pass);
    expect((await buy(voucherId, '7', headers)).id).toBe(bought.id);
    expect(await shown(voucherId)).toMatchObject({ remaining: 4 });
    expect(await buy(voucherId, '8', headers)).toMatchObject({ code: 'pass-required' });
  });

  test.each(['lua-stream', 'lua-buckets'])(
    'of %s: a user who has an order gets it without a pass, also when the sale is over',
    async (rung) => {
      const voucherId = await putOnSale({ passesAtOnce, rung });
      const { pass = '' } = await place(voucherId, '7');
      const key = { 'idempotency-key': 'lost' };
      const { id } = await buy(voucherId, '7', { 'purchase-pass': pass, ...key });
      expect(id).toBeDefined();
      const again = async () => {
        for (const _ of usersUpTo(4)) {
          expect(await buy(voucherId, '7', key)).toMatchObject({ httpStatus: 202, id });
          expect(await buy(voucherId, '7')).toMatchObject({ code: 'already-ordered' });
        }
      };
      await again(); // Its pass has lapsed, or was lost.
      expect(await buy(voucherId, '8')).toMatchObject({ code: 'pass-required' });
      await close(voucherId);
      await again();
    },
  );

  test('a sale that was closed early is over for every instance, also when its keys are gone', async () => {
    for (const room of [{}, { passesAtOnce }]) {
      const voucherId = await putOnSale({ ...room, rung: 'lua-stream' });
      for (const user of usersUpTo(8)) await buy(voucherId, `${user}`); // Each remembers its end.
      await close(voucherId);
      const connections = await readyConnections();
      const { voucher, buyers } = connections.saleKeys.of(voucherId);
      await waitUntil('the orders to be recorded', 20_000, async () =>
        (await removeEndedSales(connections, 0)).removed.includes(voucherId),
      );
      const kept = [voucher(voucherId), buyers(voucherId)];
      expect(await connections.redis('admin').exists(kept)).toBe(0);
      const answers = await waitUntilOver(voucherId, 'passesAtOnce' in room);
      expect(answers).toEqual([410]);
    }
  });

  test('nobody waits for a sale that is sold out, and its buyer is still answered', async () => {
    const voucherId = await putOnSale({ passesAtOnce: 1, stock: 1 });
    const { pass = '' } = await place(voucherId, '7');
    await place(voucherId, '8');
    const key = { 'idempotency-key': 'the-last' };
    const bought = await buy(voucherId, '7', { 'purchase-pass': pass, ...key });
    await soldOut(voucherId);
    for (const _ of usersUpTo(8))
      expect(await buy(voucherId, '7', key)).toMatchObject({ id: bought.id });
    expect(await buy(voucherId, '8')).toMatchObject({ code: 'sold-out' });
  });

  test('a sale that Redis has lost is not ready, for those who wait and those who buy', async () => {
    const voucherId = await putOnSale({ passesAtOnce });
    const connections = await readyConnections();
    const { voucher } = connections.saleKeys.of(voucherId);
    await connections.redis('admin').del(voucher(voucherId));
    expect(await place(voucherId, '7')).toMatchObject({ httpStatus: 503, code: 'not-ready' });
    expect(await buy(voucherId, '7')).toMatchObject({ httpStatus: 503, code: 'not-ready' });
  });

  test('a sale that has ended has no line', async () => {
    const endTime = new Date(Date.now() - 1_000).toISOString();
    const voucherId = await putOnSale({ passesAtOnce, endTime });
    expect(await place(voucherId, '7')).toMatchObject({ httpStatus: 410, code: 'ended' });
  });

  test('any rung may have one, and only the final ones need no pass once sold out', async () => {
    const voucherId = await putOnSale({ passesAtOnce: 1, stock: 1, rung: 'stock-positive' });
    const { pass = '' } = await place(voucherId, '7');
    expect(await buy(voucherId, '7')).toMatchObject({ code: 'pass-required' });
    expect((await buy(voucherId, '7', { 'purchase-pass': pass })).httpStatus).toBe(201);
    await soldOut(voucherId);
    expect(await buy(voucherId, '8')).toMatchObject({ code: 'pass-required' });
  });
});
