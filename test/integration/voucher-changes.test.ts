/**
 * A sale that an operator pauses, resumes, closes and changes while it runs: both stores have the
 * same stock at the end, nothing is sold that MySQL would refuse, and the journal says who did it.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { collectFacts } from '../../src/audit/collect.ts';
import { collectInParts } from '../../src/audit/collect-in-parts.ts';
import type { Connections } from '../../src/connections/connections.ts';
import { change, select } from '../../src/connections/mysql.ts';
import { loadScript, runScript } from '../../src/connections/scripts.ts';
import { reopensAfterMs, type Voucher } from '../../src/domain.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { changesOf, changesPerPage } from '../../src/orders/change-journal.ts';
import { deadLetter } from '../../src/orders/dead-letters.ts';
import { rebuild } from '../../src/orders/reconcile/rebuild.ts';
import { reconcile } from '../../src/orders/reconcile/reconcile.ts';
import { repair, repairOne, repairPlace } from '../../src/orders/reconcile/repair.ts';
import { changeSale, finishChanges, type VoucherEdit } from '../../src/orders/voucher-changes.ts';
import { openVouchers } from '../../src/purchase/vouchers.ts';
import { type CheckpointName, installGate } from '../../src/trace/checkpoints.ts';
import { buy, call, putOnSale, tokenFor } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { dieAt } from '../support/dying-change.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownStores, startedProcess } from '../support/own-stores.ts';
import { firstTerms, someOrder } from '../support/sale.ts';
import { buyAs, buyOrder, inMysql, onSale, usersUpTo, workUntilEmpty } from '../support/selling.ts';

const stock = 8;
const operator = '99';
const hourMs = 3_600_000;
let connections: Connections;
let voucher: Voucher;

beforeEach(async () => {
  connections = await startedProcess(await ownStores());
  voucher = await onSale(connections, stock);
});

const edit = (asked: VoucherEdit) => changeSale(connections, voucher.id, operator, asked);
const buyFor = (user: number | string) =>
  buyOrder(connections, voucher, someOrder(voucher.id, String(user)));
const refusedAs = (reason: string) => ({ kind: 'refused', reason });
const inRedis = () =>
  connections.redis('admin').hgetall(connections.saleKeys.of(voucher.id).voucher(voucher.id));

async function stockInMysql() {
  const [row] = await select<{ initial: number; stock: number }>(
    connections.mysql(),
    'SELECT initial_stock AS initial, stock FROM seckill_stock WHERE voucher_id = ?',
    [voucher.id],
  );
  return row;
}

async function expectConsistent(initial: number): Promise<void> {
  await workUntilEmpty(connections);
  const { confirmed, failed, users } = await inMysql(voucher, connections);
  expect(failed).toEqual([]);
  expect(users).toBe(confirmed.length);
  expect(await stockInMysql()).toEqual({ initial, stock: initial - confirmed.length });
  expect((await inRedis())['stock']).toBe(String(initial - confirmed.length));
  expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
}

describe('a pause', () => {
  test('stops the sale, and a repeated request still gets its order', async () => {
    const order = someOrder(voucher.id, '1', 'once');
    expect(await buyOrder(connections, voucher, order)).toMatchObject({ kind: 'accepted' });
    expect(await edit({ paused: true })).toMatchObject({ state: 'done', number: 1, paused: true });
    expect(await buyFor(2)).toEqual(refusedAs('sale-paused'));
    const again = await buyOrder(connections, voucher, someOrder(voucher.id, '1', 'once'));
    expect(again).toMatchObject({ kind: 'accepted', orderId: order.id });
    expect(await edit({ paused: false })).toMatchObject({ number: 2, paused: false });
    expect(await buyFor(2)).toMatchObject({ kind: 'accepted' });
    await expectConsistent(stock);
  });

  test('outlives a rebuild of a Redis that lost its data, and so do the stock and the window', async () => {
    await buyAs(connections, voucher, [1, 2]);
    const endTime = new Date(Date.now() + 2 * hourMs);
    await edit({ paused: true, stock: 5, endTime });
    await workUntilEmpty(connections);
    const keys = connections.saleKeys.of(voucher.id);
    await connections.redis('admin').del(keys.voucher(voucher.id), keys.buyers(voucher.id));
    const { epoch } = await rebuild(connections, () => {}, 0);
    connections.epoch.set(epoch);
    const { stock: left, paused, change, endMs } = await inRedis();
    expect({ left, paused, change }).toEqual({ left: '3', paused: '1', change: '1' });
    expect(endMs).toBe(String(endTime.getTime()));
    expect(await buyFor(3)).toEqual(refusedAs('sale-paused'));
    await edit({ paused: false });
    expect(await buyFor(3)).toMatchObject({ kind: 'accepted' });
    await expectConsistent(5);
  });
});

describe('the window', () => {
  test('can be moved, and a sale that is closed stays closed', async () => {
    await edit({ beginTime: new Date(Date.now() + hourMs / 2) });
    expect(await buyFor(1)).toEqual(refusedAs('not-started'));
    await edit({ beginTime: new Date(Date.now() - hourMs) });
    expect(await buyFor(1)).toMatchObject({ kind: 'accepted' });
    const closed = await edit({ endTime: 'now' });
    expect(closed?.endTime?.getTime()).toBe(Number((await inRedis())['endMs']));
    expect(await buyFor(2)).toEqual(refusedAs('ended'));
    await expect(edit({ paused: false })).rejects.toThrow('The sale ended at');
    await expectConsistent(stock);
  });

  test('must have its end after its begin', async () => {
    const before = await inRedis();
    const endTime = new Date(voucher.beginTime.getTime() - 1);
    await expect(edit({ endTime })).rejects.toThrow('endTime must be after beginTime');
    expect(await changesOf(connections.mysql(), voucher.id)).toEqual([]);
    expect(await inRedis()).toEqual(before);
  });
});

describe('the stock', () => {
  test('of a sold-out voucher grows: exactly that many more are sold', async () => {
    expect(await buyAs(connections, voucher, usersUpTo(10))).toHaveLength(stock);
    const changedAtMs = Date.now();
    await edit({ stock: stock + 4 });
    const reopensMs = Number((await inRedis())['reopensMs']);
    expect(reopensMs).toBeGreaterThanOrEqual(changedAtMs + reopensAfterMs - 100);
    expect(await buyFor(20)).toEqual(refusedAs('sold-out')); // An instance may remember it.
    let more = 0;
    let user = 30;
    await waitUntil('four more to be sold', 3 * reopensAfterMs, async () => {
      more += (await buyAs(connections, voucher, usersUpTo(3, user))).length;
      user += 3;
      return more >= 4;
    });
    expect(more).toBe(4);
    expect(await buyFor(1_000)).toEqual(refusedAs('sold-out'));
    await expectConsistent(stock + 4);
  });

  test('shrinks to what is sold, and not below', async () => {
    await buyAs(connections, voucher, [1, 2, 3]);
    await expect(edit({ stock: 2 })).rejects.toThrow('3 are sold, and a stock of 2 is less');
    expect(await stockInMysql()).toEqual({ initial: stock, stock });
    expect(await buyFor(4)).toMatchObject({ kind: 'accepted' });
    await edit({ stock: 4 });
    expect(await buyFor(5)).toEqual(refusedAs('sold-out'));
    await expectConsistent(4);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([
      { number: 1, state: 'refused', stockBefore: 8, stock: 2, sold: 3, operatorId: operator },
      { number: 2, state: 'done', stockBefore: 8, stock: 4, sold: null, operatorId: operator },
    ]);
  });

  test('is not repaired by a reading that is older than the last change', async () => {
    const epoch = connections.epoch.value;
    const sale = { voucherId: voucher.id, initialStock: stock, terms: firstTerms(voucher) };
    const place = repairPlace(connections, sale, epoch);
    await edit({ stock: 5 });
    const difference = { identity: 'stock', kind: 'stock', gap: 1, redisGap: 1, text: '' } as const;
    expect(await repairOne(place, difference, true)).toBeNull();
    expect((await inRedis())['stock']).toBe('5');
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
      await buyAs(connections, voucher, [1, 2]);
      await dieAt(place, () => edit(asked));
      await buyAs(connections, voucher, usersUpTo(3, 3));
      await workUntilEmpty(connections); // Before anybody finishes it.
      expect((await inMysql(voucher, connections)).failed).toEqual([]);
      expect(await finishChanges(connections)).toEqual([voucher.id]);
      expect(await finishChanges(connections)).toEqual([]);
      const [only] = await changesOf(connections.mysql(), voucher.id);
      expect(only).toMatchObject({ number: 1, state: 'done' });
      await expectConsistent(initial);
      const after = await openVouchers(connections).look(voucher.id);
      expect(after?.paused).toBe(asked.paused);
      expect(after?.title).toBe(asked.title ?? voucher.title);
    },
  );

  test('leaves a sale that is moving, for both readers of the audit, until it is finished', async () => {
    const moving = async () => {
      const whole = await collectFacts(connections, voucher.id);
      const parts: (boolean | undefined)[] = [];
      await collectInParts(connections, voucher.id, ({ redis }) => parts.push(redis?.isMoving));
      return [whole?.redis?.isMoving, parts.at(-1)];
    };
    expect(await moving()).toEqual([false, false]);
    await dieAt('change-begun', () => edit({ stock: stock + 3 }));
    expect(await moving()).toEqual([true, true]);
    await finishChanges(connections);
    expect(await moving()).toEqual([false, false]);
    expect((await collectFacts(connections, voucher.id))?.stocks).toEqual([stock, stock + 3]);
  });

  test('is finished by the next operator, and both changes take effect', async () => {
    await dieAt('change-applied', () => edit({ stock: 5 }));
    await edit({ paused: true });
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([
      { number: 1, state: 'done', stock: 5, paused: false },
      { number: 2, state: 'done', stock: 5, paused: true },
    ]);
    await expectConsistent(5);
  });

  test('is finished by a rebuild, when Redis lost what was applied', async () => {
    await buyAs(connections, voucher, [1, 2]);
    await dieAt('change-applied', () => edit({ stock: stock + 3 }));
    await buyAs(connections, voucher, usersUpTo(9, 3)); // All eleven are sold.
    await workUntilEmpty(connections);
    const keys = connections.saleKeys.of(voucher.id);
    await connections.redis('admin').del(keys.voucher(voucher.id), keys.buyers(voucher.id));
    const { epoch } = await rebuild(connections, () => {}, 0);
    connections.epoch.set(epoch);
    expect(await buyFor(50)).toEqual(refusedAs('sold-out'));
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([{ state: 'done' }]);
    await expectConsistent(stock + 3);
  });
});

test('a rebuild in the middle of a change finishes it', async () => {
  const keys = connections.saleKeys.of(voucher.id);
  const rebuilding = new Promise<{ epoch: string }>((resolve, reject) => {
    installGate(async (reached) => {
      if (reached !== 'change-applied') return;
      installGate(() => Promise.resolve());
      await connections.redis('admin').del(keys.voucher(voucher.id));
      const isRead = new Promise<void>((read) => {
        const onStep = (step: string) => void (step === 'read' && read());
        rebuild(connections, onStep, 0).then(resolve, reject);
      });
      await isRead;
    });
  });
  await edit({ paused: true, stock: 5 }).catch(() => {}); // An order worker would finish it.
  connections.epoch.set((await rebuilding).epoch);
  expect(await inRedis()).toMatchObject({ stock: '5', paused: '1', change: '1' });
  await expectConsistent(5);
});

test('two operators at the same time: both changes take effect, one after the other', async () => {
  await Promise.all([edit({ paused: true }), edit({ stock: 6 }), edit({ title: 'new' })]);
  const changes = await changesOf(connections.mysql(), voucher.id);
  expect(changes.map(({ number, state }) => [number, state])).toEqual([
    [1, 'done'],
    [2, 'done'],
    [3, 'done'],
  ]);
  expect(changes[2]).toMatchObject({ title: 'new', stock: 6, paused: true });
  await expectConsistent(6);
});

test('a change that arrives at Redis after a later one changes nothing', async () => {
  await edit({ stock: 6 });
  await edit({ stock: 7 });
  const before = await inRedis();
  const keys = connections.saleKeys.of(voucher.id);
  const answer = await runScript(
    connections.redis('admin'),
    loadScript('sale/change-voucher'),
    [keys.voucher(voucher.id), keys.buyers(voucher.id), keys.epoch],
    [connections.epoch.value, '1', '0', '0', '6', '0', '1', '1', '0', ''],
  );
  expect(answer).toEqual(['later-change', '2']);
  expect(await inRedis()).toEqual(before);
});

test('while Redis is rebuilt, a change waits, and is not forgotten', async () => {
  const { epoch } = connections.saleKeys.of(voucher.id);
  const value = (await connections.redis('admin').get(epoch)) ?? '';
  await connections.redis('admin').set(epoch, 'rebuilding:other');
  await expect(edit({ paused: true })).rejects.toThrow('is begun, and not finished');
  await connections.redis('admin').set(epoch, value);
  expect(await finishChanges(connections)).toEqual([voucher.id]);
  expect(await buyFor(1)).toEqual(refusedAs('sale-paused'));
});

/** As a Redis has it that lost its last writes. */
async function takeBack(fields: Readonly<Record<string, string>>): Promise<void> {
  const key = connections.saleKeys.of(voucher.id).voucher(voucher.id);
  const redis = connections.redis('admin');
  await redis.del(key);
  await redis.hset(key, { ...fields });
}

describe('a Redis that has lost the last change', () => {
  const edits: [string, VoucherEdit, number][] = [
    ['a pause', { paused: true }, stock],
    ['an end', { endTime: new Date(Date.now() + 2 * hourMs) }, stock],
    ['a begin', { beginTime: new Date(Date.now() - 2 * hourMs) }, stock],
    ['a stock that was lowered', { stock: 5 }, 5],
    ['a stock that was raised', { stock: stock + 3 }, stock + 3],
  ];

  test.each(edits)(
    '%s: reconcile sees it, and a repair brings it back',
    async (_, asked, initial) => {
      await buyAs(connections, voucher, [1, 2]);
      await workUntilEmpty(connections);
      const before = await inRedis();
      await edit(asked);
      const after = await inRedis();
      await takeBack(before);
      const found = await reconcile(connections);
      expect(found.verdict).toBe('inconsistent');
      expect(found.vouchers[0]?.differences[0]).toMatchObject({ identity: 'change', inRedis: 0 });
      expect((await repair(connections)).after.verdict).toBe('consistent');
      const { reopensMs: _reopens, ...restored } = await inRedis();
      expect(restored).toEqual(after);
      await expectConsistent(initial);
    },
  );

  test('sells no more than MySQL takes after the repair, when it sold too much meanwhile', async () => {
    const before = await inRedis();
    await edit({ stock: 3, paused: true });
    await takeBack(before);
    expect(await buyAs(connections, voucher, usersUpTo(5))).toHaveLength(5);
    await repair(connections);
    expect(await inRedis()).toMatchObject({ stock: '0', paused: '1', change: '1' });
    await workUntilEmpty(connections);
    expect((await inMysql(voucher, connections)).confirmed).toHaveLength(3);
    expect((await repair(connections)).after.verdict).toBe('consistent');
  });
});

describe('a MySQL that has lost its last changes', () => {
  /** As a backup has it, from before these changes. */
  async function forgetChanges(): Promise<void> {
    const db = connections.mysql();
    await change(db, 'DELETE FROM voucher_changes WHERE voucher_id = ?', [voucher.id]);
    await change(db, 'DELETE FROM voucher_states WHERE voucher_id = ?', [voucher.id]);
  }

  test.each([1, 2])('refuses each next one after %i, and Redis stays as it is', async (count) => {
    for (let done = 0; done < count; done++) await edit({ title: `change ${done}` });
    await edit({ beginTime: new Date(Date.now() - 2 * hourMs) });
    await forgetChanges();
    const before = await inRedis();
    for (let tries = 0; tries < 4; tries++)
      await expect(edit({ paused: true })).rejects.toThrow('MySQL has lost its last changes');
    expect(await inRedis()).toEqual(before);
    const [state] = await select<{ begun: number }>(
      connections.mysql(),
      "SELECT COUNT(*) AS begun FROM voucher_changes WHERE state = 'begun'",
    );
    expect(Number(state?.begun)).toBe(0);
    const found = await reconcile(connections);
    expect(found.vouchers[0]?.differences).toMatchObject([{ kind: 'change-of-mysql' }]);
    expect((await repair(connections)).repaired).toEqual([]);
    const { epoch } = await rebuild(connections, () => {}, 0);
    connections.epoch.set(epoch);
    expect(await edit({ paused: true })).toMatchObject({ state: 'done' });
    expect(await buyFor(1)).toEqual(refusedAs('sale-paused'));
  });
});

test('a process that wakes after MySQL lost its change settles no other one of the same number', async () => {
  let wake = () => {};
  const asleep = new Promise<void>((isAsleep) => {
    installGate(async (reached) => {
      if (reached !== 'change-applied') return;
      installGate(() => Promise.resolve());
      isAsleep();
      await new Promise<void>((resume) => {
        wake = resume;
      });
    });
  });
  const lost = edit({ paused: true }).catch((error: unknown) => error);
  await asleep;
  const db = connections.mysql();
  await change(db, 'DELETE FROM voucher_changes WHERE voucher_id = ?', [voucher.id]);
  await change(
    db,
    `INSERT INTO voucher_changes (voucher_id, number, operator_id, title, stock_before, stock,
       begin_time, end_time, paused, begun_at)
     VALUES (?, 1, 8, 'other', 8, 8, ?, ?, 0, CURRENT_TIMESTAMP(3) + INTERVAL 1 SECOND)`,
    [voucher.id, voucher.beginTime, voucher.endTime],
  );
  wake();
  await lost;
  expect(await changesOf(db, voucher.id)).toMatchObject([
    { number: 1, state: 'begun', title: 'other', operatorId: '8' },
  ]);
  expect((await openVouchers(connections).look(voucher.id))?.title).toBe(voucher.title);
});

describe('a process that stands still', () => {
  test.each<CheckpointName>(['change-begun', 'change-applied'])(
    'at %s keeps nobody from changing the sale, and changes nothing later',
    async (place) => {
      let wake = () => {};
      const asleep = new Promise<void>((isAsleep) => {
        installGate(async (reached) => {
          if (reached !== place) return;
          installGate(() => Promise.resolve());
          isAsleep();
          await new Promise<void>((resume) => {
            wake = resume;
          });
        });
      });
      const first = edit({ paused: true });
      await asleep;
      expect(await edit({ stock: 6 })).toMatchObject({ number: 2, paused: true });
      expect(await edit({ paused: false })).toMatchObject({ number: 3, stock: 6 });
      wake();
      expect(await first).toMatchObject({ number: 1, state: 'done', paused: true });
      expect(await inRedis()).toMatchObject({ change: '3', stock: '6' });
      expect(await inRedis()).not.toHaveProperty('paused');
      await expectConsistent(6);
    },
  );

  test('after a refusal: whoever finishes the change refuses it too, although a unit came back', async () => {
    const [first] = await buyAs(connections, voucher, [1, 2, 3]);
    if (!first) throw new Error('nothing was sold');
    await dieAt('change-applied', () => edit({ stock: 2 }));
    const { mysql, redis, saleKeys } = connections;
    const stores = [mysql.call(connections), redis.call(connections, 'admin'), saleKeys] as const;
    await deadLetter(...stores, first, { reason: 'undeliverable', deliveries: 1 });
    await finishChanges(connections);
    expect(await changesOf(connections.mysql(), voucher.id)).toMatchObject([
      { state: 'refused', sold: 3 },
    ]);
    expect(await inRedis()).toMatchObject({ stock: String(stock - 2), refused: '3' });
    await edit({ stock: 6 });
    await workUntilEmpty(connections);
    expect(await inRedis()).toMatchObject({ stock: '4', change: '2' });
    expect(await reconcile(connections)).toMatchObject({ verdict: 'consistent' });
  });
});

test('a journal of more than a page is read page by page', async () => {
  for (let number = 1; number <= changesPerPage + 1; number++)
    await edit({ title: String(number) });
  const page = await changesOf(connections.mysql(), voucher.id);
  expect(page).toHaveLength(changesPerPage);
  const next = await changesOf(connections.mysql(), voucher.id, page.at(-1)?.number);
  expect(next).toMatchObject([{ number: changesPerPage + 1 }]);
});

describe('over HTTP', () => {
  const patch = async (id: string, body: unknown, role: 'operator' | 'user' = 'operator') =>
    call(`/vouchers/${id}`, { method: 'PATCH', token: await tokenFor('42', role), body });
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
        expect(await buy(id, String(user))).toMatchObject({
          ...{ httpStatus: 409, code: 'sale-paused' },
        });
      const shown = async () => (await (await call(`/vouchers/${id}`)).json()) as unknown;
      await waitUntil('every instance to show it', 5_000, async () =>
        (await Promise.all(usersUpTo(8).map(shown))).every(
          (each) => (each as { paused: boolean }).paused,
        ),
      );
      expect((await patch(id, { paused: false })).status).toBe(200);
      expect(await buy(id, '2')).toMatchObject({ httpStatus: 202 });
      const journal = await call(`/vouchers/${id}/changes`, {
        token: await tokenFor('42', 'operator'),
      });
      expect(await journal.json()).toMatchObject([
        { number: 1, operatorId: '42', state: 'done', paused: true, stock: 50 },
        { number: 2, operatorId: '42', state: 'done', paused: false, stock: 50 },
      ]);
    },
  );

  test('a voucher whose row stays locked: each change is database-busy, and everybody else is answered', async () => {
    const id = await putOnSale();
    const locked = await putOnSale();
    const lab = Lab.running(ownLab.folder);
    const instance = `http://127.0.0.1:${lab?.portOf('api-1')}`;
    const other = await testConnections().mysql().getConnection();
    await other.beginTransaction();
    await other.query('SELECT id FROM vouchers WHERE id = ? FOR UPDATE', [locked]);
    const token = await tokenFor('42', 'operator');
    const ask = { method: 'PATCH', token, body: { paused: true }, baseUrl: instance };
    let answered = 0;
    const changes = usersUpTo(15).map(async () => {
      const answer = await call(`/vouchers/${locked}`, ask);
      answered += 1;
      return codeOf(answer);
    });
    const reads = ['/readyz', `/vouchers/${id}`, '/vouchers/987654321'].map((path) =>
      call(path, { baseUrl: instance }),
    );
    const statuses = (await Promise.all(reads)).map(({ status }) => status);
    expect([answered, ...statuses]).toEqual([0, 200, 200, 404]);
    const busy = [503, 'database-busy'];
    expect(await Promise.all(changes)).toEqual(changes.map(() => busy));
    await other.rollback();
    other.release();
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
    expect(await codeOf(await patch(id, { paused: true }, 'user'))).toEqual([403, 'forbidden']);
    expect(await codeOf(await patch('987654321', { paused: true }))).toEqual([
      ...[404, 'unknown-voucher'],
    ]);
    expect((await call(`/vouchers/${id}`, { method: 'PATCH', body: {} })).status).toBe(401);
    expect((await call(`/vouchers/${id}/changes`)).status).toBe(401);
    expect(await buy(id, '1')).toMatchObject({ httpStatus: 202 });
    expect(await codeOf(await patch(id, { stock: 0 }))).toEqual([409, 'stock-below-sold']);
    expect((await patch(id, { endTime: 'now' })).status).toBe(200);
    expect(await codeOf(await patch(id, { paused: true }))).toEqual([410, 'ended']);
  });
});
