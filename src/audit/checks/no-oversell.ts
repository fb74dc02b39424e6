/** No more orders than there was stock, stock never below zero, and stock + orders = what there was. */
import { confirmed, type Facts } from '../facts.ts';
import type { Case, Check } from '../finding.ts';
import { lookedTogether, tookInVain } from '../history.ts';

export const noOversell: Check = (facts) => {
  const { initialStock, mysql } = facts;
  const sold = confirmed(facts).length;
  const gap = mysql.stock + sold - initialStock;
  const cases: Omit<Case, 'orders'>[] = [];
  if (sold > initialStock)
    cases.push({
      evidence: `${sold} orders for ${initialStock} in stock`,
      severity: sold - initialStock,
    });
  if (mysql.stock < 0) cases.push({ evidence: `stock is ${mysql.stock}`, severity: -mysql.stock });
  if (gap !== 0)
    cases.push({
      evidence: `stock ${mysql.stock} + ${sold} orders is not ${initialStock}`,
      severity: Math.abs(gap),
    });
  const orders = cases.length > 0 ? guilty(facts, gap) : [];
  return cases.map((each) => ({ ...each, orders }));
};

/** Two that both found something in stock; or, where stock is missing, who took it and has no order. */
function guilty(facts: Facts, gap: number): readonly string[] {
  const { history = [] } = facts;
  const inVain = gap < 0 ? tookInVain(history) : undefined;
  if (inVain !== undefined) return [inVain];
  const ids = confirmed(facts).map(({ id }) => id);
  return lookedTogether(history, ids) ?? ids.slice(-2);
}
