/**
 * Never more orders than stock, never a stock below zero, and stock + orders = initial stock. Where
 * the rung has a row per unit, each sold unit has its order, and each order its unit.
 */
import type { HistoryEvent } from '../../trace/history.ts';
import { type Case, type Check, caseOf, never } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';

export const noOversell: Check = {
  name: 'no-oversell',
  skip: never,
  cases(facts) {
    const { initialStock, mysql } = facts;
    const sold = mysql.sold ?? confirmed(facts).length;
    const gap = mysql.stock + sold - initialStock;
    const cases: Omit<Case, 'orders'>[] = [];
    if (sold > initialStock)
      cases.push({
        evidence: ['more-orders-than-stock', sold, initialStock],
        severity: sold - initialStock,
      });
    if (mysql.stock < 0)
      cases.push({ evidence: ['stock-below-zero', mysql.stock], severity: -mysql.stock });
    if (gap !== 0)
      cases.push({
        evidence: ['stock-and-orders-differ', mysql.stock, sold, initialStock],
        severity: Math.abs(gap),
      });
    const orders = cases.length > 0 ? guilty(facts, gap) : [];
    return [...cases.map((each) => ({ ...each, orders })), ...unitsWithoutOrder(facts)];
  },
  evidence: ['after-check', 'stock-taken', 'accepted', 'died'],
};

/** A unit that was sold to no order, and an order that has no unit. */
function unitsWithoutOrder(facts: Facts): Case[] {
  const { unitOrders } = facts.mysql;
  if (!unitOrders) return [];
  const ids = new Set(confirmed(facts).map(({ id }) => id));
  const sold = new Set(unitOrders);
  const withoutOrder = unitOrders.filter((id) => !ids.has(id));
  const withoutUnit = [...ids].filter((id) => !sold.has(id));
  return [
    ...withoutOrder.map((id) => caseOf(['unit-without-order', id], id)),
    ...withoutUnit.map((id) => caseOf(['order-without-unit', id], id)),
  ];
}

/**
 * Two orders that both found something in stock; or, where stock is missing, the order that took
 * it.
 */
function guilty(facts: Facts, gap: number): readonly string[] {
  const { history = [] } = facts;
  const withoutOrder = gap < 0 ? tookWithoutOrder(history) : undefined;
  if (withoutOrder !== undefined) return [withoutOrder];
  const ids = confirmed(facts).map(({ id }) => id);
  return checkedTogether(history, ids) ?? ids.slice(-2);
}

/**
 * Two of these orders that both reached their check before either was answered: both saw the same
 * state. Two users, where there are two: one user with two orders looks like another fault.
 */
function checkedTogether(
  events: readonly HistoryEvent[],
  orders: readonly string[],
): readonly [string, string] | undefined {
  const checking = new Map<string, string>();
  let ofOneUser: readonly [string, string] | undefined;
  for (const { event, checkpoint, orderId, userId } of events) {
    if (!orders.includes(orderId)) continue;
    if (event === 'accepted') checking.delete(orderId);
    if (checkpoint !== 'after-check') continue;
    for (const [other, owner] of checking) {
      if (owner !== userId) return [other, orderId];
      if (other !== orderId) ofOneUser ??= [other, orderId];
    }
    checking.set(orderId, userId);
  }
  return ofOneUser;
}

/** An order that took one from stock and was never accepted. */
function tookWithoutOrder(events: readonly HistoryEvent[]): string | undefined {
  const accepted = new Set(
    events.filter(({ event }) => event === 'accepted').map(({ orderId }) => orderId),
  );
  return events.find(
    ({ checkpoint, orderId }) => checkpoint === 'stock-taken' && !accepted.has(orderId),
  )?.orderId;
}
