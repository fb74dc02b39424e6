/**
 * Critical sections of one resource never overlap, whatever a lease said: no request enters before
 * the one inside left. Where leases have fences, they only grow, and no old fence writes.
 */
import type { HistoryEvent } from '../../trace/history.ts';
import type { Case, Check, Undecided } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { type Section, sectionsOf } from '../sections.ts';

export const mutualExclusion: Check = {
  name: 'mutual-exclusion',
  skip({ locked, history }) {
    if (!locked) return 'this rung has no lock that should exclude others';
    return history ? null : 'no history was kept';
  },
  cases(facts) {
    const cases = [...overlaps(facts), ...fencesOutOfOrder(facts)];
    return cases.length > 0 ? cases : (incomplete(facts) ?? []);
  },
  evidence: ['granted', 'committed', 'releasing', 'died'],
};

function overlaps({ history = [] }: Facts): Case[] {
  const start = BigInt(history[0]?.at ?? 0);
  const at = (time: bigint) => `${(Number(time - start) / 1_000_000).toFixed(1)} ms`;
  const text = ({ orderId, instance, from, to }: Section) =>
    `order ${orderId} on ${instance} from ${at(from)} to ${at(to)}`;
  const cases: Case[] = [];
  const inside = new Map<string, Section>();
  for (const section of sectionsOf(history)) {
    const other = inside.get(section.resource);
    if (other && section.from < other.to)
      cases.push({
        evidence: `${section.resource}: ${text(other)}, and ${text(section)}`,
        severity: 1,
        orders: [other.orderId, section.orderId],
      });
    if (!other || section.to > other.to) inside.set(section.resource, section);
  }
  return cases;
}

function fencesOutOfOrder({ history = [] }: Facts): Case[] {
  const grants = history.filter(({ event, fence }) => event === 'granted' && fence !== undefined);
  const byOrder = new Map(grants.map((grant) => [grant.orderId, grant]));
  const writes = history
    .filter(({ event }) => event === 'committed')
    .flatMap(({ orderId }) => byOrder.get(orderId) ?? []);
  return [...notGrowing(grants, 'was granted'), ...notGrowing(writes, 'wrote with')];
}

/** Each fence that is not larger than an earlier one of another order on the same resource. */
function notGrowing(grants: readonly HistoryEvent[], did: string): Case[] {
  const cases: Case[] = [];
  const largest = new Map<string, HistoryEvent>();
  for (const grant of grants) {
    const { resource = '', orderId, fence = '0' } = grant;
    const before = largest.get(resource);
    if (!before || BigInt(fence) > BigInt(before.fence ?? 0)) largest.set(resource, grant);
    else if (before.orderId !== orderId)
      cases.push({
        evidence: `${resource}: order ${orderId} ${did} the fence ${fence} after order ${before.orderId} ${did} the fence ${before.fence}`,
        severity: 1,
        orders: [before.orderId, orderId],
      });
  }
  return cases;
}

/**
 * A section that the history does not have cannot overlap: so each order needs the grant of its
 * lock.
 */
export function incomplete(facts: Facts): Undecided | null {
  const { history = [], historyHasGap, attempts = [] } = facts;
  if (historyHasGap) return { undecided: 'the history has a gap' };
  const granted = new Set(
    history.filter(({ event }) => event === 'granted').map(({ orderId }) => orderId),
  );
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const orders = [
    ...accepted.map(({ orderId }) => orderId ?? ''),
    ...confirmed(facts).map(({ id }) => id),
  ];
  const missing = orders.find((id) => !granted.has(id));
  if (missing === undefined) return null;
  return { undecided: `the history has no grant of the lock for order ${missing}` };
}
