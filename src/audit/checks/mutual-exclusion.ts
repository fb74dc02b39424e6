/**
 * Critical sections of one resource never overlap, whatever a lease said: no request enters before
 * the one inside left.
 */
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
    const cases = overlaps(facts);
    return cases.length > 0 ? cases : (incomplete(facts) ?? []);
  },
  evidence: ['granted', 'releasing', 'died'],
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
