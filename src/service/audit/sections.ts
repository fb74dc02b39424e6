/** What the history says about critical sections, and about writes that MySQL refused. */
import type { HistoryEvent } from '../trace/history.ts';
import type { Facts } from './facts.ts';
import type { Evidence } from './sentences.ts';

/**
 * A critical section: from the grant of a lock to the call of its release. Without a release it
 * ends with the death of the process, with the answer to the purchase, or with the history. A
 * re-entrant section ends with its last release.
 */
export interface Section {
  readonly resource: string;
  readonly orderId: string;
  readonly userId: string;
  readonly instance: string;
  readonly from: bigint;
  readonly to: bigint;
}

const answers: readonly string[] = ['accepted', 'refused', 'unknown'];

/**
 * In the order of their beginnings. `endsAt`: a section ends with the call of the release, or with
 * the lock service's answer to it.
 */
export function sectionsOf(
  events: readonly HistoryEvent[],
  endsAt: 'releasing' | 'released' = 'releasing',
): Section[] {
  const end = BigInt(events.at(-1)?.at ?? 0) + 1n;
  const byOrder = Map.groupBy(events, ({ orderId }) => orderId);
  const sections = [...byOrder.values()].flatMap((all) => {
    const granted = all.filter(({ event }) => event === 'granted');
    const ended = all.filter(({ event }) => event === endsAt);
    const over = all.find(({ event }) => event === 'died' || answers.includes(event));
    const last = ended.length < granted.length ? over : ended.at(-1);
    const [first] = granted;
    if (!first?.resource) return [];
    const { resource, orderId, userId, instance, at } = first;
    return [
      { resource, orderId, userId, instance, from: BigInt(at), to: last ? BigInt(last.at) : end },
    ];
  });
  return sections.sort((one, other) => (one.from < other.from ? -1 : 1));
}

/** The writes that MySQL refused after a lock had let two requests through. */
export interface MysqlRefusals {
  /** By the fence: a newer lease was granted. */
  readonly staleFence: number;
  /** By the unique key (the rails): the user had an order already. */
  readonly duplicate: number;
}

export function mysqlRefusals({ history = [] }: Pick<Facts, 'history'>): MysqlRefusals {
  const fenced = history.filter(
    ({ event, reason }) => event === 'refused' && reason === 'stale-fence',
  );
  const duplicates = history.filter(({ event }) => event === 'duplicate');
  return { staleFence: fenced.length, duplicate: duplicates.length };
}

/** Nothing when MySQL refused nothing. */
export const refusalEvidence = ({ staleFence, duplicate }: MysqlRefusals): Evidence[] =>
  staleFence + duplicate > 0 ? [['writes-refused-by-mysql', staleFence, duplicate]] : [];
