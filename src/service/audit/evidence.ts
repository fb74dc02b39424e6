/**
 * The smallest set of events and rows that proves a violation: the two purchases that should not
 * both have happened.
 */
import type { CheckName } from '../domain.ts';
import type { HistoryEvent } from '../trace/history.ts';
import { type Audit, checks } from './audit.ts';
import type { Facts, OrderRow } from './facts.ts';
import type { Finding } from './finding.ts';

export interface Proof {
  readonly check: CheckName;
  readonly events: readonly HistoryEvent[];
  /** The rows of these orders in MySQL. */
  readonly rows: readonly OrderRow[];
}

export function proofOf({ check, orders = [] }: Finding, { history = [], mysql }: Facts): Proof {
  const kinds = checks.find(({ name }) => name === check)?.evidence ?? [];
  const proves = ({ event, checkpoint }: HistoryEvent) =>
    kinds.includes(event === 'checkpoint' && checkpoint ? checkpoint : event);
  const events = history.filter((event) => orders.includes(event.orderId) && proves(event));
  return { check, events, rows: mysql.orders.filter(({ id }) => orders.includes(id)) };
}

/** One for each violation. */
export const proofsOf = ({ findings }: Audit, facts: Facts): Proof[] =>
  findings
    .filter(({ verdict }) => verdict === 'violated')
    .map((finding) => proofOf(finding, facts));
