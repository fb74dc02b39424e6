/**
 * Critical sections of one resource never overlap, whatever a lease said: no request enters before
 * the one inside left. Where leases have fences, they only grow, and no old fence writes.
 */

import type { HistoryEvent } from '../../trace/history.ts';
import type { Case, Check, UndecidedFinding } from '../check.ts';
import { confirmed, type Facts } from '../facts.ts';
import { type Section, sectionsOf } from '../sections.ts';
import type { LockEventGap, Stay } from '../sentences.ts';

export const mutualExclusion: Check = {
  name: 'mutual-exclusion',
  skip({ locked, history }) {
    if (!locked) return ['no-excluding-lock'];
    return history ? null : ['no-history'];
  },
  cases(facts) {
    const cases = [...overlaps(facts), ...fencesOutOfOrder(facts)];
    return cases.length > 0 ? cases : (incomplete(facts) ?? []);
  },
  evidence: ['granted', 'committed', 'releasing', 'died'],
};

function overlaps({ history = [] }: Facts): Case[] {
  const start = BigInt(history[0]?.at ?? 0);
  const at = (time: bigint) => (Number(time - start) / 1_000_000).toFixed(1);
  const stay = ({ userId, orderId, instance, from, to }: Section): Stay => ({
    userId,
    orderId,
    instance,
    from: at(from),
    to: at(to),
  });
  const cases: Case[] = [];
  const inside = new Map<string, Section>();
  for (const section of sectionsOf(history)) {
    const other = inside.get(section.resource);
    if (other && section.from < other.to)
      cases.push({
        evidence: ['sections-overlap', section.resource, stay(other), stay(section)],
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
  return [...notGrowing(grants, 'fence-granted-after'), ...notGrowing(writes, 'fence-wrote-after')];
}

/** Each fence that is not larger than an earlier one of another order on the same resource. */
function notGrowing(
  grants: readonly HistoryEvent[],
  key: 'fence-granted-after' | 'fence-wrote-after',
): Case[] {
  const cases: Case[] = [];
  const largest = new Map<string, HistoryEvent>();
  for (const grant of grants) {
    const { resource = '', orderId, fence = '0' } = grant;
    const before = largest.get(resource);
    if (!before || BigInt(fence) > BigInt(before.fence ?? 0)) largest.set(resource, grant);
    else if (before.orderId !== orderId)
      cases.push({
        evidence: [key, { resource, earlier: fenceOf(before), later: fenceOf(grant) }],
        severity: 1,
        orders: [before.orderId, orderId],
      });
  }
  return cases;
}

const fenceOf = ({ orderId, fence = '0' }: HistoryEvent) => ({ orderId, fence });

/**
 * A section that the history does not have cannot overlap: so each order that was inside needs the
 * grant of its lock, and each refusal as busy its denial.
 */
export function incomplete(facts: Facts): UndecidedFinding | null {
  const { history = [], historyHasGap, attempts = [] } = facts;
  if (historyHasGap) return { undecided: ['history-gap'] };
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const sold = [
    ...accepted.map(({ orderId }) => orderId ?? ''),
    ...confirmed(facts).map(({ id }) => id),
  ];
  const byOrder = Map.groupBy(history, ({ orderId }) => orderId);
  const isGranted = (id: string) => byOrder.get(id)?.some(({ event }) => event === 'granted');
  const withoutGrant = sold.find((id) => !isGranted(id));
  if (withoutGrant !== undefined) return { undecided: ['grant-not-recorded', withoutGrant] };
  for (const [id, events] of byOrder) {
    const gap = gapIn(events);
    if (gap) return { undecided: ['lock-events-incomplete', gap, id] };
  }
  return null;
}

/** After these refusals the lock was held: the purchase had looked at the voucher. */
const refusedInside: readonly (string | undefined)[] = ['already-ordered', 'sold-out'];

/** What the events of one order say must have happened, and do not have. */
function gapIn(events: readonly HistoryEvent[]): LockEventGap | null {
  const count = (wanted: string) => events.filter(({ event }) => event === wanted).length;
  const ended = (wanted: readonly (string | undefined)[]) =>
    events.some(({ event, reason }) => event === 'refused' && wanted.includes(reason));
  const entered = events.filter(
    ({ event, checkpoint }) => event === 'checkpoint' && checkpoint === 'after-acquire',
  ).length;
  const isRequested = count('requested') > 0;
  const grants = count('granted');
  if (Math.max(entered, count('releasing')) > grants) return 'few-grants';
  if (isRequested && grants === 0 && ended(refusedInside)) return 'no-grant';
  if (isRequested && ended(['busy']) && count('denied') === 0) return 'no-denial';
  const requests = events.filter(({ resource }) => resource !== undefined);
  const ids = new Set(requests.map(({ requestId }) => requestId));
  return ids.size > 1 ? 'two-requests' : null;
}
