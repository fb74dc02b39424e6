/**
 * Idea. Where more users come than a sale can answer, they wait in a line. Each takes a place, the
 *   next number. At most `passesAtOnce` users have a turn: a pass, which lets them buy. When it is
 *   used or lapses, the next place is called: so the line moves as fast as the sale does. One who
 *   is called and does not ask keeps the place; the next one is called after a second or two.
 * Holds while. Redis keeps the places: they survive every instance, and a restart of Redis.
 * Breaks when. Redis loses its data: then users take new places. No order depends on them.
 * Source. The waiting rooms of Cloudflare ("total active users") and Queue-it.
 */
import type { Connections } from '../connections/connections.ts';
import { stockPlaces } from '../connections/sale-keys.ts';
import { loadScript, runScript } from '../connections/scripts.ts';
import {
  keptAfterEndMs,
  type Order,
  type Outcome,
  type RefusalReason,
  type Voucher,
} from '../domain.ts';
import { rungNamed } from '../ladder/rungs.ts';
import { hmacSha256, isSameCode } from './hmac-sha256.ts';

const takePlace = loadScript('waiting-room/take-place');

export interface WaitingPlace {
  /** Users with the places before it are called first. */
  readonly place: number;
  /** The last place that was called. */
  readonly called: number;
  /** When it is this user's turn: what lets them buy, and until when. */
  readonly pass?: string;
  readonly passUntil?: Date;
  /** Without a pass: the turn is not expected before. */
  readonly askAgainSeconds?: number;
}

export interface WaitingRoom {
  /**
   * The same place, however often its user asks; a new one after its pass was used or has lapsed.
   * Null when the sale has ended.
   */
  place(voucher: Voucher, userId: string): Promise<WaitingPlace | null>;
  /** Whether it is a pass for this purchase, and has not lapsed. */
  isPass(pass: string, bearer: Bearer): boolean;
  /** Of a voucher that Redis sells: whether this user has an order. */
  isBuyer(voucher: Voucher, userId: string): Promise<boolean>;
  /** After a purchase with a pass: the next place is called, if this turn is over. */
  leave(bearer: Bearer, outcome: Outcome): void;
}

type Answer =
  | [word: 'turn', place: number, called: number, lapsesMs: string]
  | [word: 'wait', place: number, called: number, perSecond: string, untilBeginMs: string]
  | [word: 'ended'];

export function openWaitingRoom(connections: Connections): WaitingRoom {
  const redis = connections.redis('admin');
  const { TOKEN_SECRET, TOKEN_SECRET_BEFORE, PASS_MS } = connections.config;
  // While the secret changes, an instance that does not know the new one reads the pass too.
  const { sign, isPass } = passes([TOKEN_SECRET_BEFORE, TOKEN_SECRET].filter(Boolean));

  async function ask(voucher: Voucher, userId: string): Promise<Answer> {
    const { id, endTime, beginTime, passesAtOnce = 0 } = voucher;
    const { saleKeys, epoch } = connections;
    const shard = saleKeys.of(id);
    const [sale = shard] = stockPlaces(saleKeys, id, rungNamed(voucher.rung), voucher.buckets);
    const keys = [...shard.waiting(id), sale.voucher(id), shard.epoch];
    const times = [PASS_MS, keptAfterEndMs, beginTime.getTime(), endTime.getTime()].map(String);
    const args = [epoch.value, userId, String(passesAtOnce), ...times];
    return (await runScript(redis, takePlace, keys, args)) as Answer;
  }

  async function place(voucher: Voucher, userId: string): Promise<WaitingPlace | null> {
    const answer = await ask(voucher, userId);
    if (answer[0] === 'ended') return null;
    const [word, number, called, value, untilBeginMs] = answer;
    const found = { place: number, called };
    if (word === 'wait') {
      const speed = Math.max(Number(value), (voucher.passesAtOnce ?? 0) / 2);
      return { ...found, askAgainSeconds: wait(number - called, speed, Number(untilBeginMs)) };
    }
    const untilMs = Number(value);
    const pass = sign({ voucherId: voucher.id, userId }, untilMs);
    return { ...found, pass, passUntil: new Date(untilMs) };
  }

  return {
    place,
    isPass,
    isBuyer: async ({ id, rung, buckets }, userId) => {
      const { of, bucketOf } = connections.saleKeys;
      const sale = rungNamed(rung).buckets ? bucketOf(id, userId, buckets) : of(id);
      return (await redis.hexists(sale.buyers(id), userId)) === 1;
    },
    leave: ({ voucherId, userId }, outcome) => {
      if (!isOver(outcome)) return;
      const key = connections.saleKeys.of(voucherId).passes(voucherId);
      redis.zrem(key, userId).catch(() => {}); // It lapses then.
    },
  };
}

/** Nobody waits longer without news. 100,000 users then ask 1,700 times a second. */
const longestWaitSeconds = 60;

/**
 * Rather too early than too late: a pass that nobody comes for keeps the next user waiting. So the
 * speed is at least that of passes that are used within two seconds.
 */
function wait(places: number, perSecond: number, untilBeginMs: number): number {
  const seconds = Math.floor(untilBeginMs / 1_000 + Math.max(0, places) / perSecond);
  return Math.max(1, Math.min(longestWaitSeconds, seconds));
}

const lastWords: ReadonlySet<RefusalReason> = new Set(['sold-out', 'already-ordered', 'ended']);

/** After any other outcome the user may try again, with the same pass. */
const isOver = (outcome: Outcome): boolean =>
  outcome.kind === 'accepted' || (outcome.kind === 'refused' && lastWords.has(outcome.reason));

/** Who may use a pass, and for what. */
export type Bearer = Pick<Order, 'voucherId' | 'userId'>;

/** The clocks of Redis, which ends a pass, and of the instance may differ by so much. */
const clocksMs = 5_000;
const parts = /^(\d{1,15})\.([\w-]{43})$/;

/**
 * A pass is the moment until which it may be used, and a signature of that, its user and its
 * voucher. An instance checks it without a question to Redis. A user cannot make one, give it away,
 * or prolong it.
 * @param secrets the first one signs; each is read.
 */
export function passes(secrets: readonly string[]) {
  const keys = secrets.map(hmacSha256);
  const [sign = hmacSha256('')] = keys;
  return {
    sign: (bearer: Bearer, untilMs: number): string =>
      `${untilMs}.${sign(textOf(bearer, String(untilMs)))}`,
    /** Whether it is a pass of this user for this voucher, and has not lapsed. */
    isPass: (pass: string, bearer: Bearer): boolean => {
      const [, untilMs = '', signature = ''] = parts.exec(pass) ?? [];
      if (signature === '' || Date.now() >= Number(untilMs) + clocksMs) return false;
      const text = textOf(bearer, untilMs);
      return keys.some((key) => isSameCode(signature, key(text)));
    },
  };
}

/** It has colons, and what is signed of a token has none: neither can stand for the other. */
const textOf = ({ voucherId, userId }: Bearer, untilMs: string): string =>
  `pass:${voucherId}:${userId}:${untilMs}`;
