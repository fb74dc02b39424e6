/**
 * Idea. Where more users come than a sale can answer, they wait in a line. Each takes a place, the
 *   next number. At most `passesAtOnce` users have a pass, which lets them buy. When a pass is used
 *   or lapses, the next place has its turn: so the line moves as fast as the sale does.
 * Holds while. Redis keeps the places: they survive every instance, and a restart of Redis.
 * Breaks when. Redis loses its data: then users take new places. No order depends on them.
 * Source. The waiting rooms of Cloudflare ("total active users") and Queue-it.
 */
import type { Connections } from '../../connections/connections.ts';
import { loadScript, runScript } from '../../connections/scripts.ts';
import type { Outcome, RefusalReason, Voucher } from '../../domain.ts';
import { type Bearer, passes } from './passes.ts';

const takePlace = loadScript('waiting-room/take-place');

export interface Place {
  /** Users with the places before it come first. */
  readonly place: number;
  /** The last place that had its turn. */
  readonly served: number;
  /** When it is this user's turn: what lets them buy, and until when. */
  readonly pass?: string;
  readonly passUntil?: Date;
  /** Without a pass: the turn is not expected before. */
  readonly askAgainSeconds?: number;
}

export interface WaitingRoom {
  /** The same place, however often its user asks; a new one after its pass was used or lapsed. */
  place(voucher: Voucher, userId: string): Promise<Place>;
  /** The place of a pass; null when it is none, has lapsed, or is that of another purchase. */
  placeOf(pass: string, bearer: Bearer): number | null;
  /** After a purchase with the pass of this place: the next one has its turn, if it is over. */
  leave(voucherId: string, place: number, outcome: Outcome): void;
}

/** After the end of its sale, the places of a room are kept for so long. */
const keptMs = 86_400_000;

export function openWaitingRoom(connections: Connections): WaitingRoom {
  const redis = connections.redis('admin');
  const { TOKEN_SECRET, TOKEN_SECRET_BEFORE, PASS_MS } = connections.config;
  const { sign, placeOf } = passes([TOKEN_SECRET, TOKEN_SECRET_BEFORE].filter(Boolean));
  const shardOf = (voucherId: string) => connections.saleKeys.of(voucherId);

  async function place(voucher: Voucher, userId: string): Promise<Place> {
    const { id: voucherId, endTime } = voucher;
    const shard = shardOf(voucherId);
    const keys = [shard.room(voucherId), shard.places(voucherId), shard.passes(voucherId)];
    const times = [String(PASS_MS), String(endTime.getTime() + keptMs)];
    const args = [userId, String(passesNow(voucher)), ...times];
    const answer = await runScript(redis, takePlace, keys, args);
    const [word, number, served, value] = answer as ['turn' | 'wait', number, number, string];
    const found = { place: number, served };
    if (word === 'wait')
      return { ...found, askAgainSeconds: wait(voucher, number - served, value) };
    const untilMs = Number(value);
    const pass = sign({ voucherId, userId }, number, untilMs);
    return { ...found, pass, passUntil: new Date(untilMs) };
  }

  return {
    place,
    placeOf,
    leave: (voucherId, place, outcome) => {
      if (!isOver(outcome)) return;
      redis.zrem(shardOf(voucherId).passes(voucherId), place).catch(() => {}); // It lapses then.
    },
  };
}

/** Before the sale begins, and while it is paused, nobody has a turn. */
function passesNow({ beginTime, paused, passesAtOnce = 0 }: Voucher): number {
  return paused || Date.now() < beginTime.getTime() ? 0 : passesAtOnce;
}

/** Nobody waits longer without news. 100,000 users then ask 1,700 times a second. */
const longestWaitSeconds = 60;

/**
 * Rather too early than too late: a pass that nobody comes for keeps the next user waiting, so the
 * line is slower, and users are told to come even later. So the speed is at least that of passes
 * that are used within two seconds.
 */
function wait({ beginTime, passesAtOnce = 0 }: Voucher, places: number, perSecond: string): number {
  const untilBegin = Math.max(0, beginTime.getTime() - Date.now()) / 1_000;
  const speed = Math.max(Number(perSecond), passesAtOnce / 2);
  const seconds = Math.floor(untilBegin + places / speed);
  return Math.max(1, Math.min(longestWaitSeconds, seconds));
}

const lastWords: ReadonlySet<RefusalReason> = new Set(['sold-out', 'already-ordered', 'ended']);

/** After any other outcome the user may try again, with the same pass. */
const isOver = (outcome: Outcome): boolean =>
  outcome.kind === 'accepted' || (outcome.kind === 'refused' && lastWords.has(outcome.reason));
