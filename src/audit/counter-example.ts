/** The smallest set of events that proves a violation: the two purchases that should not both have happened. */
import type { CheckName } from '../domain.ts';
import type { HistoryEvent } from '../history.ts';
import { confirmed, type Facts } from './facts.ts';
import { sectionsOf } from './history.ts';

export function counterExample(check: CheckName, facts: Facts): HistoryEvent[] {
  const { history = [] } = facts;
  const [one, other] = guilty(check, facts);
  return history.filter(({ orderId }) => orderId === one || orderId === other);
}

/** The ids of the two orders. */
function guilty(check: CheckName, facts: Facts): readonly (string | undefined)[] {
  if (check === 'one-order-per-user') return twoOrdersOfOneUser(facts);
  if (check === 'sections-never-overlap') return twoSectionsAtOnce(facts);
  if (check === 'no-oversell') return lastOrders(facts) ?? neverLeft(facts);
  return [];
}

function twoOrdersOfOneUser(facts: Facts): string[] {
  const first = new Map<string, string>();
  for (const { id, userId } of confirmed(facts)) {
    const earlier = first.get(userId);
    if (earlier !== undefined) return [earlier, id];
    first.set(userId, id);
  }
  return [];
}

function twoSectionsAtOnce({ history = [] }: Facts): string[] {
  const sections = sectionsOf(history);
  for (const [index, section] of sections.entries()) {
    const other = sections
      .slice(0, index)
      .find(({ resource, to }) => resource === section.resource && section.from < to);
    if (other) return [other.orderId, section.orderId];
  }
  return [];
}

/** The two that should not both have found something in stock. */
function lastOrders(facts: Facts): string[] | undefined {
  const ids = confirmed(facts).map(({ id }) => id);
  return ids.length > 1 ? ids.slice(-2) : undefined;
}

/** Who went in and never came out took what is missing. */
function neverLeft({ history = [] }: Facts): string[] {
  const left = new Set(history.filter(({ event }) => event === 'left').map(({ orderId }) => orderId));
  return sectionsOf(history).flatMap(({ orderId }) => (left.has(orderId) ? [] : [orderId]));
}
