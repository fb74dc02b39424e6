/** The smallest set of events and rows that proves a violation: the two purchases that should not both have happened. */
import type { CheckName } from '../domain.ts';
import type { HistoryEvent } from '../history.ts';
import type { Audit } from './audit.ts';
import type { Facts, OrderRow } from './facts.ts';
import type { Finding } from './finding.ts';
import { sectionsOf } from './history.ts';

export interface Proof {
  readonly check: CheckName | 'somebody-can-buy';
  readonly events: readonly HistoryEvent[];
  /** What MySQL has of these orders. */
  readonly rows: readonly OrderRow[];
}

const outcomes = ['accepted', 'refused', 'unknown', 'recorded'];

/** What proves what: an overlap of sections, two looks before either was told, or what was said of an order. */
const telling: Partial<Record<CheckName, readonly string[]>> = {
  'sections-never-overlap': ['granted', 'left', 'died'],
  'one-order-per-user': ['after-check', 'accepted'],
  'no-oversell': ['after-check', 'stock-taken', 'accepted', 'died'],
};

export function counterExample({ check, orders = [] }: Finding, { history = [], mysql }: Facts): Proof {
  const kinds = telling[check] ?? outcomes;
  const tells = ({ event, checkpoint }: HistoryEvent) =>
    kinds.includes(event === 'checkpoint' && checkpoint ? checkpoint : event);
  const events = history.filter((event) => orders.includes(event.orderId) && tells(event));
  const rows = check === 'sections-never-overlap' ? [] : mysql.orders.filter(({ id }) => orders.includes(id));
  return { check, events, rows };
}

/** One for each violation. */
export const counterExamples = ({ findings }: Audit, facts: Facts): Proof[] =>
  findings.flatMap((finding) => (finding.verdict === 'violated' ? [counterExample(finding, facts)] : []));

/** One who was refused as busy, and what became of those who had the lock before. */
export function nobodyCanBuy(facts: Facts): Proof {
  const busy = refusedBesideAFreeLock(facts);
  const before = busy ? (facts.history ?? []).slice(0, facts.history?.indexOf(busy)) : [];
  const holds = ({ event }: HistoryEvent) => ['granted', 'lost', 'left', 'died'].includes(event);
  const events = before.filter((event) => event.userId === busy?.userId && holds(event));
  return { check: 'somebody-can-buy', events: busy ? [...events, busy] : events, rows: [] };
}

/** The first who was refused as busy while nobody else was in the section. */
export function refusedBesideAFreeLock({ history = [] }: Facts): HistoryEvent | undefined {
  const sections = sectionsOf(history);
  return history.find(({ reason, at, orderId, userId }) => {
    const isInside = (time: bigint) =>
      sections.some(
        (other) =>
          other.userId === userId && other.orderId !== orderId && other.from < time && time < other.to,
      );
    return reason === 'busy' && !isInside(BigInt(at));
  });
}
