/** No more orders than there was stock, stock never below zero, and stock + orders = what there was. */
import { confirmed } from '../facts.ts';
import type { Case, Check } from '../finding.ts';

export const noOversell: Check = (facts) => {
  const { initialStock, mysql } = facts;
  const orders = confirmed(facts).length;
  const gap = mysql.stock + orders - initialStock;
  const cases: Case[] = [];
  if (orders > initialStock)
    cases.push({
      evidence: `${orders} orders for ${initialStock} in stock`,
      severity: orders - initialStock,
    });
  if (mysql.stock < 0) cases.push({ evidence: `stock is ${mysql.stock}`, severity: -mysql.stock });
  if (gap !== 0)
    cases.push({
      evidence: `stock ${mysql.stock} + ${orders} orders is not ${initialStock}`,
      severity: Math.abs(gap),
    });
  return cases;
};
