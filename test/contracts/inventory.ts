/**
 * The contract of inventories. A clause answers true or false, so that one that must fail it is
 * tested too.
 */
import { expect } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import { change, select } from '../../src/service/connections/mysql.ts';
import type { Order, Outcome, Voucher } from '../../src/service/domain.ts';
import type { Inventory } from '../../src/service/inventory/inventory.ts';
import type { Lease } from '../../src/service/locks/lock.ts';
import { timedLease } from '../../src/service/locks/shared/leases.ts';
import { someOrder, someVoucher } from '../support/sale.ts';

export interface Contestant {
  readonly inventory: Inventory;
  readonly connections: Connections;
  /** Waits until every accepted order of the voucher is in MySQL. */
  readonly drained: () => Promise<void>;
  /** A lease that lasts, as the lock of the rung would grant it for this order. */
  readonly lease: (order: Order) => Promise<Lease>;
}

type Clause = (contestant: Contestant) => Promise<boolean>;

const slow = { rails: false, workMs: 50, retries: 0 };

async function onSale(
  { connections, inventory }: Contestant,
  changes: Partial<Voucher> = {},
): Promise<Voucher> {
  const voucher = await someVoucher(connections, changes);
  await inventory.prepare(voucher);
  return voucher;
}

/** Sells under a lease of its own. */
async function sell(
  { inventory, lease }: Contestant,
  order: Order,
  voucher: Voucher,
): Promise<Outcome> {
  return inventory.sell(order, voucher, await lease(order));
}

async function ordersOf(
  { connections, drained }: Contestant,
  { id }: Voucher,
): Promise<{ id: string; userId: string }[]> {
  await drained();
  const sql =
    'SELECT CAST(id AS CHAR) AS id, CAST(user_id AS CHAR) AS userId FROM orders WHERE voucher_id = ?';
  return select(connections.mysql(), sql, [id]);
}

const count = (outcomes: readonly Outcome[], kind: Outcome['kind']) =>
  outcomes.filter((outcome) => outcome.kind === kind).length;

/** The unit of an order, in the one place or in the other. */
const takesUnit = [
  'UPDATE seckill_stock SET stock = stock - 1 WHERE voucher_id = ?',
  'UPDATE voucher_units SET order_id = 1 WHERE voucher_id = ? AND unit = 1',
];

/** Sells to a user whose order is in MySQL already. @returns the orders and the units that went. */
export async function sellBesideAnOrder(contestant: Contestant, takes: readonly string[]) {
  const { inventory, connections } = contestant;
  const pool = connections.mysql();
  const voucher = await onSale(contestant, { lab: { ...slow, rails: true, workMs: 0 } });
  const earlier = someOrder(voucher.id, '7');
  await change(
    pool,
    'INSERT INTO orders (id, voucher_id, user_id, request_id, one_per_user) VALUES (?, ?, ?, ?, 1)',
    [earlier.id, voucher.id, '7', 'earlier'],
  );
  for (const take of takes) await change(pool, take, [voucher.id]);
  await sell(contestant, someOrder(voucher.id, '7'), voucher);
  const query = "SELECT 1 FROM orders WHERE voucher_id = ? AND status = 'confirmed'";
  const confirmed = (await select(pool, query, [voucher.id])).length;
  await contestant.drained();
  return { confirmed, taken: voucher.stock - ((await inventory.remaining(voucher)) ?? 0) };
}

export const clauses = {
  'sells what there is, then answers sold-out': async (contestant) => {
    const { inventory } = contestant;
    const voucher = await onSale(contestant, { stock: 2 });
    const sellTo = (userId: string) => sell(contestant, someOrder(voucher.id, userId), voucher);
    const first = await sellTo('1');
    const second = await sellTo('2');
    const third = await sellTo('3');
    const left = await inventory.remaining(voucher);
    const refusal = third.kind === 'refused' && third.reason;
    return (
      first.kind === 'accepted' &&
      second.kind === 'accepted' &&
      refusal === 'sold-out' &&
      left === 0
    );
  },

  'records an accepted order under the id of its answer': async (contestant) => {
    const voucher = await onSale(contestant);
    // Above 2^53: a number would lose its last digits.
    const order = someOrder(voucher.id, '9223372036854775807');
    const outcome = await sell(contestant, order, voucher);
    const rows = await ordersOf(contestant, voucher);
    return (
      outcome.kind === 'accepted' &&
      outcome.orderId === order.id &&
      rows.length === 1 &&
      rows[0]?.id === order.id &&
      rows[0].userId === order.userId
    );
  },

  'is the same when it is prepared twice before the sale': async (contestant) => {
    const voucher = await onSale(contestant, { stock: 3 });
    await contestant.inventory.prepare(voucher);
    return (await contestant.inventory.remaining(voucher)) === 3;
  },

  'keeps its stock when it is prepared again during the sale': async (contestant) => {
    const { inventory } = contestant;
    const voucher = await onSale(contestant, { stock: 3 });
    await sell(contestant, someOrder(voucher.id, '1'), voucher);
    await inventory.prepare(voucher).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'VOUCHER_ID_TAKEN' });
    });
    return (await inventory.remaining(voucher)) === 2;
  },

  'never sells more than there is to many users at once': async (contestant) => {
    const voucher = await onSale(contestant, { stock: 3, lab: slow });
    const users = Array.from({ length: 8 }, (_, index) => String(index + 1));
    const sales = users.map((userId) => sell(contestant, someOrder(voucher.id, userId), voucher));
    const accepted = count(await Promise.all(sales), 'accepted');
    return accepted === 3 && (await ordersOf(contestant, voucher)).length === 3;
  },

  'sells one to a user who asks many times at once': async (contestant) => {
    const voucher = await onSale(contestant, { stock: 8, lab: slow });
    const sales = Array.from({ length: 8 }, () =>
      sell(contestant, someOrder(voucher.id, '7'), voucher),
    );
    const outcomes = await Promise.all(sales);
    return count(outcomes, 'accepted') === 1 && (await ordersOf(contestant, voucher)).length === 1;
  },

  'names the order that the user already has': async (contestant) => {
    const voucher = await onSale(contestant);
    const order = someOrder(voucher.id, '7');
    await sell(contestant, order, voucher);
    const again = await sell(contestant, someOrder(voucher.id, '7'), voucher);
    return (
      again.kind === 'refused' && again.reason === 'already-ordered' && again.orderId === order.id
    );
  },

  'answers a repeated request with the order it already has': async (contestant) => {
    const voucher = await onSale(contestant);
    const first = someOrder(voucher.id, '7', 'once');
    const again = someOrder(voucher.id, '7', 'once');
    await sell(contestant, first, voucher);
    const outcome = await sell(contestant, again, voucher);
    const rows = await ordersOf(contestant, voucher);
    return outcome.kind === 'accepted' && outcome.orderId === first.id && rows.length === 1;
  },

  'sells nothing under a lost lease': async (contestant) => {
    const { inventory } = contestant;
    const voucher = await onSale(contestant);
    const lost = timedLease('test', 0, async () => {});
    const outcome = await inventory.sell(someOrder(voucher.id, '7'), voucher, lost);
    const untouched =
      (await inventory.remaining(voucher)) === voucher.stock &&
      (await ordersOf(contestant, voucher)).length === 0;
    return outcome.kind === 'refused' && outcome.reason === 'lease-lost' && untouched;
  },

  'is stopped by the rails when the user has an order already': async (contestant) => {
    const { confirmed, taken } = await sellBesideAnOrder(contestant, takesUnit);
    return confirmed === 1 && taken === 1;
  },
} satisfies Record<string, Clause>;

export type ClauseName = keyof typeof clauses;
