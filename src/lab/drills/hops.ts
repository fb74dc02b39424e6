/** What became of the accepted orders after a kill at one hop of their way. Pure. */
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { RaceName } from '../play/schedules.ts';

/**
 * How long a queue may take in the end. BullMQ looks for stalled jobs every 30 seconds, must see
 * one twice, and skips a look that comes a moment too early: the job of a dead worker was given to
 * another one after 60 or 90 seconds.
 */
export const drainWithinMs = 150_000;

/** The hop after which an order is delivered a second time, by a queue that can. */
export const redeliveredAt: RaceName = 'worker-dies-after-commit';

export interface Hop {
  readonly rung: string;
  readonly hop: RaceName;
  /** Orders whose clients were told `accepted`. */
  readonly accepted: number;
  /** Of those: in MySQL once, more than once, and not at all. */
  readonly once: number;
  readonly twice: number;
  readonly never: number;
  /** Users with stock in Redis and no order in MySQL: they can never buy. */
  readonly stuck: number;
  /** From the last fault until everything was recorded; null when that never was. */
  readonly seconds: number | null;
  readonly asClaimed: boolean;
}

type Counts = Omit<Hop, 'rung' | 'hop' | 'asClaimed'>;

/** @param faultAt of the last fault, in nanoseconds of the history's clock. */
export function countHop(facts: Facts, faultAt: bigint): Counts {
  const { attempts = [], redis, history = [] } = facts;
  const byUser = Map.groupBy(confirmed(facts), ({ userId }) => userId);
  const accepted = attempts.filter(({ outcome }) => outcome === 'accepted');
  const rows = accepted.map(({ userId }) => byUser.get(userId)?.length ?? 0);
  const stuck = Object.keys(redis?.buyers ?? {}).filter((userId) => !byUser.has(userId)).length;
  const never = rows.filter((count) => count === 0).length;
  const recorded = history.filter(({ event }) => event === 'recorded').map(({ at }) => BigInt(at));
  const last = recorded.reduce((latest, at) => (at > latest ? at : latest), faultAt);
  return {
    accepted: accepted.length,
    once: rows.filter((count) => count === 1).length,
    twice: rows.filter((count) => count > 1).length,
    never,
    stuck,
    seconds: never + stuck > 0 ? null : Number(last - faultAt) / 1e9,
  };
}
