/** Critical sections of one resource never overlap: nobody enters before the one inside has left. */
import type { Check } from '../finding.ts';
import { type Section, sectionsOf } from '../history.ts';

export const sectionsNeverOverlap: Check = ({ history }) => {
  if (!history) return 'undecided';
  const start = BigInt(history[0]?.at ?? 0);
  const at = (time: bigint) => `${(Number(time - start) / 1_000_000).toFixed(1)} ms`;
  const say = ({ orderId, instance, from, to }: Section) =>
    `order ${orderId} on ${instance} from ${at(from)} to ${at(to)}`;
  const cases = [];
  const inside = new Map<string, Section>();
  for (const section of sectionsOf(history)) {
    const other = inside.get(section.resource);
    if (other && other.orderId !== section.orderId && section.from < other.to)
      cases.push({
        evidence: `${section.resource}: ${say(other)}, and ${say(section)}`,
        severity: 1,
        orders: [other.orderId, section.orderId],
      });
    if (!other || section.to > other.to) inside.set(section.resource, section);
  }
  return cases;
};
