/**
 * A steady stream of purchases, whatever happens to the service: a client repeats its request, with
 * the same idempotency key, until the answer is final.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { Agent } from 'undici';
import type { Attempt } from '../../service/audit/facts.ts';
import type { SaleKeys } from '../../service/connections/sale-keys.ts';
import { signToken } from '../../service/http/tokens.ts';
import type { Lab } from '../environment/lab.ts';
import { buyOnce, type Intent } from './buy-once.ts';

export interface Purchase extends Intent {
  readonly voucherId: string;
}

/** An HTTP request of a purchase, with its answer. */
export interface Try extends Attempt {
  readonly voucherId: string;
}

export interface SteadyLoad extends Pick<Lab, 'baseUrl' | 'tokenSecret'> {
  readonly purchasesPerSecond: number;
  /** One request for each purchase, whatever its answer. */
  readonly repeats?: false;
  /** The purchases that are due at once. */
  readonly atOnce?: number;
  /** The most requests under way; above it a purchase is sent late. */
  readonly clients?: number;
  /** Once it aborts, no purchase is begun. */
  readonly ending?: AbortSignal;
  /** Once it aborts, a purchase without a final answer stays unresolved. */
  readonly giveUp: AbortSignal;
  /** Once it aborts, no answer is waited for. */
  readonly interruption?: AbortSignal;
  /** Called with each try when it is answered. */
  readonly onTry?: (attempt: Try) => void;
}

const answerWithinMs = 5_000;
const betweenTriesMs = 100;

/** Refusals that a client repeats its request after. It also repeats after an unknown outcome. */
const temporary: readonly string[] = ['not-ready', 'busy', 'database-busy', 'sale-paused'];

export const isFinal = ({ outcome, reason = '' }: Attempt): boolean =>
  outcome === 'accepted' || (outcome === 'refused' && !temporary.includes(reason));

/** One purchase of each user. @param name tells these requests from those of other loads. */
export const onePurchaseEach = (
  voucherId: string,
  name: string,
  users: number,
  firstUser = 1,
): Purchase[] =>
  Array.from({ length: users }, (_, index) => {
    const userId = String(firstUser + index);
    return { voucherId, userId, requestId: `${name}-${voucherId}-${userId}` };
  });

/** Users 1 to `users` in a random order; every tenth sends a second purchase right after. */
export function planPurchases(voucherId: string, users: number, seed: number): Purchase[] {
  const generator = xoroshiro128plus(seed);
  const plan: Purchase[] = [];
  for (let user = 1; user <= users; user++) {
    const purchase = (time: number) => ({
      voucherId,
      userId: String(user),
      requestId: `storm-${seed}-${voucherId}-${user}-${time}`,
    });
    const own = user % 10 === 0 ? [purchase(1), purchase(2)] : [purchase(1)];
    plan.splice(uniformInt(generator, 0, plan.length), 0, ...own);
  }
  return plan;
}

/**
 * Sends each purchase when it is due, or late when no client is free. Each is asked for when a
 * client is free for it, so that the load may be without end. Resolves when every purchase has its
 * final answer, or is given up.
 * @returns every try, in the order of the answers.
 */
export async function buySteadily(purchases: Iterable<Purchase>, load: SteadyLoad): Promise<Try[]> {
  const { baseUrl, tokenSecret, purchasesPerSecond, repeats, clients = 128, giveUp } = load;
  const { atOnce = 1, ending = giveUp } = load;
  const noMore = AbortSignal.any([giveUp, ending]);
  const agent = new Agent({ connections: clients, headersTimeout: answerWithinMs });
  setMaxListeners(0, noMore); // One for each client that waits for its next purchase.
  const interrupt = () => void agent.destroy().catch(() => {});
  load.interruption?.addEventListener('abort', interrupt);
  const tries: Try[] = [];
  const resolve = async (purchase: Purchase): Promise<void> => {
    const url = `${baseUrl}/vouchers/${purchase.voucherId}/orders`;
    const token = await signToken(tokenSecret, purchase.userId, 'user');
    while (!giveUp.aborted) {
      const answer = await buyOnce(agent, url, purchase, token);
      const attempt = { ...answer, voucherId: purchase.voucherId };
      tries.push(attempt);
      load.onTry?.(attempt);
      if (repeats === false || isFinal(attempt)) return;
      await sleep(betweenTriesMs);
    }
  };
  const startedAt = performance.now();
  const line = purchases[Symbol.iterator]();
  let sent = 0;
  const client = async (): Promise<void> => {
    for (let own = line.next(); !own.done && !giveUp.aborted; own = line.next()) {
      const dueFirst = Math.floor(sent++ / atOnce) * atOnce;
      const dueMs = (dueFirst * 1_000) / purchasesPerSecond - (performance.now() - startedAt);
      if (dueMs > 0) await sleep(dueMs, undefined, { signal: noMore }).catch(() => {});
      if (noMore.aborted) return;
      await resolve(own.value);
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    load.interruption?.removeEventListener('abort', interrupt);
    await agent.destroy();
  }
  return tries;
}

/** The purchases that no try brought a final answer for. */
export function unresolved(purchases: readonly Purchase[], tries: readonly Try[]): Purchase[] {
  const byRequest = Map.groupBy(tries, ({ requestId }) => requestId);
  return purchases.filter(({ requestId }) => !byRequest.get(requestId)?.some(isFinal));
}

/** The purchases of a voucher, by the bucket that each user is sent to first. */
export function byBucket(
  keys: SaleKeys,
  purchases: readonly Purchase[],
  buckets: number,
): Purchase[][] {
  const bucketOf = ({ voucherId, userId }: Purchase) => keys.bucketOf(voucherId, userId, buckets);
  return keys
    .bucketsOf(purchases[0]?.voucherId ?? '', buckets)
    .map((bucket) => purchases.filter((each) => bucketOf(each) === bucket));
}
