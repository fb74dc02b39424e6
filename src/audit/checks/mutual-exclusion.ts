/** Critical sections of one resource never overlap: no request enters before the one inside has left. */
import type { Case, Check } from '../check.ts';
import type { Facts } from '../facts.ts';
import { type Section, sectionsOf } from '../sections.ts';

export const needsHistoryOfLock = ({ locked, history }: Facts): string | null => {
  if (!locked) return 'this rung has no lock that should exclude others';
  return history ? null : 'no history was kept';
};

export const mutualExclusion: Check = {
  name: 'mutual-exclusion',
  skip: needsHistoryOfLock,
  cases({ history = [] }) {
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
  },
  evidence: ['granted', 'releasing', 'died'],
};
