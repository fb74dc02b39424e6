/**
 * Never more orders than stock, never a stock below zero, and stock + orders = initial stock. Where
 * the rung has a row per unit, each sold unit has its order, and each order its unit.
 */
import { type Case, type Check, never } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { checkedTogether, tookWithoutOrder } from '../sections.ts';

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
  const caseOf = (key: 'unit-without-order' | 'order-without-unit', id: string): Case => ({
    evidence: [key, id],
    severity: 1,
    orders: [id],
  });
  return [
    ...unitOrders.filter((id) => !ids.has(id)).map((id) => caseOf('unit-without-order', id)),
    ...[...ids].filter((id) => !sold.has(id)).map((id) => caseOf('order-without-unit', id)),
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
