/**
 * A sale that an operator pauses, resumes, closes and changes while it runs: both stores have the
 * same stock at the end, nothing is sold that MySQL would refuse, and the journal says who did it.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { collectInParts } from '../../src/service/audit/audit-in-parts.ts';
import { change, select } from '../../src/service/connections/mysql.ts';
import { loadScript, runScript } from '../../src/service/connections/scripts.ts';
import { reopensAfterMs } from '../../src/service/domain.ts';
import { changesPerPage } from '../../src/service/orders/change-journal.ts';
import { rebuild } from '../../src/service/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/service/orders/reconcile/reconcile.ts';
import { repair, repairOne, repairPlace } from '../../src/service/orders/reconcile/repair.ts';
import { finishChanges, type VoucherEdit } from '../../src/service/orders/voucher-changes.ts';
import { openVouchers } from '../../src/service/purchase/vouchers.ts';
import type { CheckpointName } from '../../src/service/trace/checkpoints.ts';
import { buy, call, operate, putOnSale, tokenFor } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { theLab } from '../support/own-lab.ts';
import { dieAt, type OwnSale, ownSale, standStillAt } from '../support/own-sale.ts';
import { lockRow } from '../support/own-stores.ts';
import { firstTerms, usersUpTo } from '../support/sale.ts';

const lab = theLab();
const stock = 8;
const hourMs = 3_600_000;
let sale: OwnSale;

beforeEach(async () => {
  sale = await ownSale({ stock });
});

const fromNow = (ms: number) => new Date(Date.now() + ms);
const accepted = { kind: 'accepted' };
const refusedAs = (reason: string) => ({ kind: 'refused', reason });
const done = { state: 'done' };

describe('a pause', () => {
  test('stops the sale, and a repeated request still gets its order', async () => {
    const { id: orderId } = await sale.bought(1, 'once');
    expect(await sale.edit({ paused: true })).toMatchObject({ ...done, number: 1, paused: true });
    expect(await sale.buy(2)).toEqual(refusedAs('sale-paused'));
    expect(await sale.buy(1, 'once')).toMatchObject({ ...accepted, orderId });
    expect(await sale.edit({ paused: false })).toMatchObject({ number: 2, paused: false });
    expect(await sale.buy(2)).toMatchObject(accepted);
    await sale.expectConsistent(stock);
  });

  test('outlives a rebuild of a Redis that lost its data, and so do the stock and the window', async () => {
    await sale.buyAs([1, 2]);
    const endTime = fromNow(2 * hourMs);
    await sale.edit({ paused: true, stock: 5, endTime });
    await sale.record();
    await sale.loseRedis();
    await sale.rebuild();
    const { stock: left, paused, change, endMs } = await sale.inRedis();
    expect({ left, paused, change }).toEqual({ left: '3', paused: '1', change: '1' });
    expect(endMs).toBe(String(endTime.getTime()));
    expect(await sale.buy(3)).toEqual(refusedAs('sale-paused'));
    await sale.edit({ paused: false });
    expect(await sale.buy(3)).toMatchObject(accepted);
    await sale.expectConsistent(5);
  });
});

describe('the window', () => {
  test('can be moved, and a sale that is closed stays closed', async () => {
    await sale.edit({ beginTime: fromNow(hourMs / 2) });
    expect(await sale.buy(1)).toEqual(refusedAs('not-started'));
    await sale.edit({ beginTime: fromNow(-hourMs) });
    expect(await sale.buy(1)).toMatchObject(accepted);
    const closed = await sale.edit({ endTime: 'now' });
    expect(closed?.endTime?.getTime()).toBe(Number((await sale.inRedis())['endMs']));
    expect(await sale.buy(2)).toEqual(refusedAs('ended'));
    await expect(sale.edit({ paused: false })).rejects.toThrow('The sale ended at');
    await sale.expectConsistent(stock);
  });

  test('must have its end after its begin', async () => {
    const before = await sale.inRedis();
    const endTime = new Date(sale.voucher.beginTime.getTime() - 1);
    await expect(sale.edit({ endTime })).rejects.toThrow('endTime must be after beginTime');
    expect(await sale.changes()).toEqual([]);
    expect(await sale.inRedis()).toEqual(before);
  });
});

describe('the stock', () => {
  test('of a sold-out voucher grows: exactly that many more are sold', async () => {
    expect(await sale.buyAs(usersUpTo(10))).toHaveLength(stock);
    const changedAtMs = Date.now();
    await sale.edit({ stock: stock + 4 });
    const reopensMs = Number((await sale.inRedis())['reopensMs']);
    expect(reopensMs).toBeGreaterThanOrEqual(changedAtMs + reopensAfterMs - 100);
    expect(await sale.buy(20)).toEqual(refusedAs('sold-out')); // An instance may remember it.
    let more = 0;
    let user = 30;
    await waitUntil('four more to be sold', 3 * reopensAfterMs, async () => {
      more += (await sale.buyAs(usersUpTo(3, user))).length;
      user += 3;
      return more >= 4;
    });
    expect(more).toBe(4);
    expect(await sale.buy(1_000)).toEqual(refusedAs('sold-out'));
    await sale.expectConsistent(stock + 4);
  });

  test('shrinks to what is sold, and not below', async () => {
    await sale.buyAs([1, 2, 3]);
    await expect(sale.edit({ stock: 2 })).rejects.toThrow('3 are sold, and a stock of 2 is less');
    expect(await sale.inMysql()).toEqual({ initial: stock, stock });
    expect(await sale.buy(4)).toMatchObject(accepted);
    await sale.edit({ stock: 4 });
    expect(await sale.buy(5)).toEqual(refusedAs('sold-out'));
    await sale.expectConsistent(4);
    expect(await sale.changes()).toMatchObject([
      { number: 1, state: 'refused', stockBefore: 8, stock: 2, sold: 3, operatorId: '99' },
      { number: 2, state: 'done', stockBefore: 8, stock: 4, sold: null, operatorId: '99' },
    ]);
  });

  test('is not repaired by a reading that is older than the last change', async () => {
    const { connections, id: voucherId, voucher } = sale;
    const read = { voucherId, initialStock: stock, terms: firstTerms(voucher) };
    const place = repairPlace(connections, read, connections.epoch.value);
    await sale.edit({ stock: 5 });
    const says = ['stock', 6, 0, 6, 5] as const;
    const difference = { identity: 'stock', kind: 'stock', gap: 1, redisGap: 1, says } as const;
    expect(await repairOne(place, difference, true)).toBeNull();
    expect((await sale.inRedis())['stock']).toBe('5');
  });
});

describe('a change whose process dies', () => {
  const edits: [string, VoucherEdit, number][] = [
    ['that adds stock', { stock: stock + 3 }, stock + 3],
    ['that takes stock away', { stock: 5 }, 5],
    ['that pauses the sale', { paused: true, title: 'later' }, stock],
  ];
  const places: CheckpointName[] = ['change-begun', 'change-applied'];

  test.each(edits.flatMap((each) => places.map((place) => [place, ...each] as const)))(
    'at %s, %s: nothing that was sold meanwhile is refused, and the next process finishes it',
    async (place, _, asked, initial) => {
      await sale.buyAs([1, 2]);
      await dieAt(place, () => sale.edit(asked));
      await sale.buyAs(usersUpTo(3, 3));
      await sale.record(); // Before anybody finishes it.
      expect((await sale.recorded()).failed).toEqual([]);
      expect(await finishChanges(sale.connections)).toEqual([sale.id]);
      expect(await finishChanges(sale.connections)).toEqual([]);
      const [only] = await sale.changes();
      expect(only).toMatchObject({ number: 1, ...done });
      await sale.expectConsistent(initial);
      const after = await openVouchers(sale.connections).look(sale.id);
      expect(after?.paused).toBe(asked.paused);
      expect(after?.title).toBe(asked.title ?? sale.voucher.title);
    },
  );

  test('leaves a sale that is moving, for both readers of the audit, until it is finished', async () => {
    const moving = async () => {
      const whole = await sale.facts();
      const parts: (boolean | undefined)[] = [];
      await collectInParts(sale.connections, sale.id, ({ redis }) => parts.push(redis?.isMoving));
      return [whole.redis?.isMoving, parts.at(-1)];
    };
    expect(await moving()).toEqual([false, false]);
    await dieAt('change-begun', () => sale.edit({ stock: stock + 3 }));
    expect(await moving()).toEqual([true, true]);
    await finishChanges(sale.connections);
    expect(await moving()).toEqual([false, false]);
    expect((await sale.facts()).stocks).toEqual([stock, stock + 3]);
  });

  test('is finished by a rebuild, when Redis lost what was applied', async () => {
    await sale.buyAs([1, 2]);
    await dieAt('change-applied', () => sale.edit({ stock: stock + 3 }));
    await sale.buyAs(usersUpTo(9, 3)); // All eleven are sold.
    await sale.record();
    await sale.loseRedis();
    await sale.rebuild();
    expect(await sale.buy(50)).toEqual(refusedAs('sold-out'));
    expect(await sale.changes()).toMatchObject([done]);
    await sale.expectConsistent(stock + 3);
  });
});

test('a rebuild in the middle of a change finishes it', async () => {
  const { asleep, wake } = standStillAt('change-applied');
  const changing = sale.edit({ paused: true, stock: 5 }).catch(() => {}); // A worker finishes it.
  await asleep;
  await sale.redis.del(sale.keys.voucher(sale.id));
  const onStep = (step: string) => void (step === 'read' && wake());
  const { epoch } = await rebuild(sale.connections, onStep, 0);
  await changing;
  sale.connections.epoch.set(epoch);
  expect(await sale.inRedis()).toMatchObject({ stock: '5', paused: '1', change: '1' });
  await sale.expectConsistent(5);
});

test('two operators at the same time: both changes take effect, one after the other', async () => {
  await Promise.all([
    sale.edit({ paused: true }),
    sale.edit({ stock: 6 }),
    sale.edit({ title: 'new' }),
  ]);
  const changes = await sale.changes();
  expect(changes).toMatchObject([1, 2, 3].map((number) => ({ number, ...done })));
  expect(changes[2]).toMatchObject({ title: 'new', stock: 6, paused: true });
  await sale.expectConsistent(6);
});

test('a change that arrives at Redis after a later one changes nothing', async () => {
  await sale.edit({ stock: 6 });
  await sale.edit({ stock: 7 });
  const before = await sale.inRedis();
  const keys = [sale.keys.voucher(sale.id), sale.keys.buyers(sale.id), sale.keys.epoch];
  const late = [sale.connections.epoch.value, '1', '0', '0', '6', '0', '1', '1', '0', ''];
  const answer = await runScript(sale.redis, loadScript('sale/change-voucher'), keys, late);
  expect(answer).toEqual(['later-change', '2']);
  expect(await sale.inRedis()).toEqual(before);
});

test('while Redis is rebuilt, a change waits, and is not forgotten', async () => {
  const { epoch } = sale.keys;
  const value = (await sale.redis.get(epoch)) ?? '';
  await sale.redis.set(epoch, 'rebuilding:other');
  await expect(sale.edit({ paused: true })).rejects.toThrow('is begun, and not finished');
  await sale.redis.set(epoch, value);
  expect(await finishChanges(sale.connections)).toEqual([sale.id]);
  expect(await sale.buy(1)).toEqual(refusedAs('sale-paused'));
});

/** As a Redis has it that lost its last writes. */
async function takeBack(fields: Readonly<Record<string, string>>): Promise<void> {
  const key = sale.keys.voucher(sale.id);
  await sale.redis.del(key);
  await sale.redis.hset(key, { ...fields });
}

describe('a Redis that has lost the last change', () => {
  const edits: [string, VoucherEdit, number][] = [
    ['a pause', { paused: true }, stock],
    ['an end', { endTime: fromNow(2 * hourMs) }, stock],
    ['a begin', { beginTime: fromNow(-2 * hourMs) }, stock],
    ['a stock that was lowered', { stock: 5 }, 5],
    ['a stock that was raised', { stock: stock + 3 }, stock + 3],
  ];

  test.each(edits)(
    '%s: reconcile sees it, and a repair brings it back',
    async (_, asked, initial) => {
      await sale.buyAs([1, 2]);
      await sale.record();
      const before = await sale.inRedis();
      await sale.edit(asked);
      const after = await sale.inRedis();
      await takeBack(before);
      const found = await reconcile(sale.connections);
      expect(found.verdict).toBe('inconsistent');
      expect(found.vouchers[0]?.differences[0]).toMatchObject({ identity: 'change', inRedis: 0 });
      expect((await repair(sale.connections)).after.verdict).toBe('consistent');
      const { reopensMs: _reopens, ...restored } = await sale.inRedis();
      expect(restored).toEqual(after);
      await sale.expectConsistent(initial);
    },
  );

  test('sells no more than MySQL takes after the repair, when it sold too much meanwhile', async () => {
    const before = await sale.inRedis();
    await sale.edit({ stock: 3, paused: true });
    await takeBack(before);
    expect(await sale.buyAs(usersUpTo(5))).toHaveLength(5);
    await repair(sale.connections);
    expect(await sale.inRedis()).toMatchObject({ stock: '0', paused: '1', change: '1' });
    await sale.record();
    expect((await sale.recorded()).confirmed).toHaveLength(3);
    expect((await repair(sale.connections)).after.verdict).toBe('consistent');
  });
});

describe('a MySQL that has lost its last changes', () => {
  /** As a backup has it, from before these changes. */
  async function forgetChanges(): Promise<void> {
    for (const table of ['voucher_changes', 'voucher_states'])
      await change(sale.pool, `DELETE FROM ${table} WHERE voucher_id = ?`, [sale.id]);
  }

  test.each([1, 2])('refuses each next one after %i, and Redis stays as it is', async (count) => {
    for (let done = 0; done < count; done++) await sale.edit({ title: `change ${done}` });
    await sale.edit({ beginTime: fromNow(-2 * hourMs) });
    await forgetChanges();
    const before = await sale.inRedis();
    for (let tries = 0; tries < 4; tries++)
      await expect(sale.edit({ paused: true })).rejects.toThrow('MySQL has lost its last changes');
    expect(await sale.inRedis()).toEqual(before);
    const [state] = await select<{ begun: number }>(
      sale.pool,
      "SELECT COUNT(*) AS begun FROM voucher_changes WHERE state = 'begun'",
    );
    expect(Number(state?.begun)).toBe(0);
    const found = await reconcile(sale.connections);
    expect(found.vouchers[0]?.differences).toMatchObject([{ kind: 'change-of-mysql' }]);
    expect((await repair(sale.connections)).repaired).toEqual([]);
    await sale.rebuild();
    expect(await sale.edit({ paused: true })).toMatchObject(done);
    expect(await sale.buy(1)).toEqual(refusedAs('sale-paused'));
  });
});

test('a process that wakes after MySQL lost its change settles no other one of the same number', async () => {
  const { asleep, wake } = standStillAt('change-applied');
  const lost = sale.edit({ paused: true }).catch((error: unknown) => error);
  await asleep;
  await change(sale.pool, 'DELETE FROM voucher_changes WHERE voucher_id = ?', [sale.id]);
  await change(
    sale.pool,
    `INSERT INTO voucher_changes (voucher_id, number, operator_id, title, stock_before, stock,
       begin_time, end_time, paused, begun_at)
     VALUES (?, 1, 8, 'other', 8, 8, ?, ?, 0, CURRENT_TIMESTAMP(3) + INTERVAL 1 SECOND)`,
    [sale.id, sale.voucher.beginTime, sale.voucher.endTime],
  );
  wake();
  await lost;
  expect(await sale.changes()).toMatchObject([
    { number: 1, state: 'begun', title: 'other', operatorId: '8' },
  ]);
  expect((await openVouchers(sale.connections).look(sale.id))?.title).toBe(sale.voucher.title);
});

describe('a process that stands still', () => {
  test.each<CheckpointName>(['change-begun', 'change-applied'])(
    'at %s keeps nobody from changing the sale, and changes nothing later',
    async (place) => {
      const { asleep, wake } = standStillAt(place);
      const first = sale.edit({ paused: true });
      await asleep;
      expect(await sale.edit({ stock: 6 })).toMatchObject({ number: 2, paused: true });
      expect(await sale.edit({ paused: false })).toMatchObject({ number: 3, stock: 6 });
      wake();
      expect(await first).toMatchObject({ number: 1, ...done, paused: true });
      expect(await sale.inRedis()).toMatchObject({ change: '3', stock: '6' });
      expect(await sale.inRedis()).not.toHaveProperty('paused');
      await sale.expectConsistent(6);
    },
  );

  test('after a refusal: whoever finishes the change refuses it too, although a unit came back', async () => {
    const first = await sale.bought(1);
    await sale.buyAs([2, 3]);
    await dieAt('change-applied', () => sale.edit({ stock: 2 }));
    await sale.deadLetter(first);
    await finishChanges(sale.connections);
    expect(await sale.changes()).toMatchObject([{ state: 'refused', sold: 3 }]);
    expect(await sale.inRedis()).toMatchObject({ stock: String(stock - 2), refused: '3' });
    await sale.edit({ stock: 6 });
    await sale.record();
    expect(await sale.inRedis()).toMatchObject({ stock: '4', change: '2' });
    expect(await reconcile(sale.connections)).toMatchObject({ verdict: 'consistent' });
  });
});

test('a journal of more than a page is read page by page', async () => {
  for (let number = 1; number <= changesPerPage + 1; number++)
    await sale.edit({ title: String(number) });
  const page = await sale.changes();
  expect(page).toHaveLength(changesPerPage);
  const next = await sale.changes(page.at(-1)?.number);
  expect(next).toMatchObject([{ number: changesPerPage + 1 }]);
});

describe('over HTTP', () => {
  const patch = (id: string, body: unknown) => operate('PATCH', `/vouchers/${id}`, body);
  const codeOf = async (answer: Response) => {
    const { code } = (await answer.json()) as { code?: string };
    return [answer.status, code];
  };

  test.each(['lua-stream', 'lua-buckets'])(
    'an operator pauses a sale of %s, and every instance refuses to sell',
    async (rung) => {
      const id = await putOnSale({ rung, stock: 50 });
      expect(await buy(id, '1')).toMatchObject({ httpStatus: 202 });
      expect((await patch(id, { paused: true })).status).toBe(200);
      for (let user = 2; user <= 17; user++)
        expect(await buy(id, `${user}`)).toMatchObject({ httpStatus: 409, code: 'sale-paused' });
      const isShown = async () =>
        ((await (await call(`/vouchers/${id}`)).json()) as { paused: boolean }).paused;
      await waitUntil('every instance to show it', 20_000, async () =>
        (await Promise.all(usersUpTo(8).map(isShown))).every((shown) => shown),
      );
      expect((await patch(id, { paused: false })).status).toBe(200);
      expect(await buy(id, '2')).toMatchObject({ httpStatus: 202 });
      const journal = await operate('GET', `/vouchers/${id}/changes`);
      const both = { operatorId: '1', ...done, stock: 50 };
      expect(await journal.json()).toMatchObject([
        { number: 1, ...both, paused: true },
        { number: 2, ...both, paused: false },
      ]);
    },
  );

  test('a voucher whose row stays locked: each change is database-busy, and everybody else is answered', async () => {
    const id = await putOnSale();
    const locked = await putOnSale();
    const baseUrl = `http://127.0.0.1:${lab().portOf('api-1')}`;
    const letGo = await lockRow(testConnections().mysql(), `vouchers WHERE id = ${locked}`);
    const token = await tokenFor('1', 'operator');
    const ask = { method: 'PATCH', token, body: { paused: true }, baseUrl };
    let answered = 0;
    const changes = usersUpTo(15).map(async () => {
      const answer = await call(`/vouchers/${locked}`, ask);
      answered += 1;
      return codeOf(answer);
    });
    const paths = ['/readyz', `/vouchers/${id}`, '/vouchers/987654321'];
    const reads = paths.map((path) => call(path, { baseUrl }));
    const statuses = (await Promise.all(reads)).map(({ status }) => status);
    expect([answered, ...statuses]).toEqual([0, 200, 200, 404]);
    expect(await Promise.all(changes)).toEqual(changes.map(() => [503, 'database-busy']));
    await letGo();
    expect((await patch(locked, { paused: true })).status).toBe(200);
  });

  test('what is wrong is refused, and changes nothing', async () => {
    const id = await putOnSale();
    const rows = await putOnSale({ rung: 'row-lock' });
    const invalid = [400, 'invalid-request'];
    for (const body of [{}, { stock: -1 }, { stock: 1.5 }, { price: 3 }, { paused: 'yes' }, '[]'])
      expect.soft(await codeOf(await patch(id, body)), JSON.stringify(body)).toEqual(invalid);
    expect(await codeOf(await patch(id, { endTime: '2001-01-01T00:00:00Z' }))).toEqual(invalid);
    expect(await codeOf(await patch(rows, { paused: true }))).toEqual(invalid);
    const unknown = await patch('987654321', { paused: true });
    expect(await codeOf(unknown)).toEqual([404, 'unknown-voucher']);
    expect((await call(`/vouchers/${id}`, { method: 'PATCH', body: {} })).status).toBe(401);
    expect((await call(`/vouchers/${id}/changes`)).status).toBe(401);
    expect(await buy(id, '1')).toMatchObject({ httpStatus: 202 });
    expect(await codeOf(await patch(id, { stock: 0 }))).toEqual([409, 'stock-below-sold']);
    expect((await patch(id, { endTime: 'now' })).status).toBe(200);
    expect(await codeOf(await patch(id, { paused: true }))).toEqual([410, 'ended']);
  });
});
