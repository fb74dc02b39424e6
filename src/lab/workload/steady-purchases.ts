/**
 * A steady stream of purchases, whatever happens to the service: a client repeats its request, with
 * the same idempotency key, until the answer is final.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { Agent } from 'undici';
import type { Attempt } from '../../audit/facts.ts';
import { groupBy } from '../../audit/group-by.ts';
import { signToken } from '../../http/tokens.ts';
import { buyOnce, type Intent } from './buy-once.ts';

export interface Purchase extends Intent {
  readonly voucherId: string;
}

/** An HTTP request of a purchase, with its answer. */
export interface Try extends Attempt {
  readonly voucherId: string;
}

export interface SteadyLoad {
  readonly baseUrl: string;
  readonly tokenSecret: string;
  readonly purchasesPerSecond: number;
  /** Once it aborts, a purchase without a final answer stays unresolved. */
  readonly giveUp: AbortSignal;
  /** Called with each try when it is answered. */
  readonly onTry?: (attempt: Try) => void;
}

const clients = 128;
const answerWithinMs = 5_000;
const betweenTriesMs = 100;

/** Refusals that a client repeats its request after. It also repeats after an unknown outcome. */
const temporary: readonly string[] = ['not-ready', 'busy', 'database-busy'];

const isFinal = ({ outcome, reason = '' }: Attempt): boolean =>
  outcome === 'accepted' || (outcome === 'refused' && !temporary.includes(reason));

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
 * Sends each purchase when it is due, or late when no client is free. Resolves when every purchase
 * has its final answer, or is given up.
 * @returns every try, in the order of the answers.
 */
export async function buySteadily(
  purchases: readonly Purchase[],
  { baseUrl, tokenSecret, purchasesPerSecond, giveUp, onTry = () => {} }: SteadyLoad,
): Promise<Try[]> {
  const agent = new Agent({ connections: clients, headersTimeout: answerWithinMs });
  setMaxListeners(0, giveUp); // One for each client that waits for its next purchase.
  const tokens = await tokensOf(purchases, tokenSecret);
  const tries: Try[] = [];
  const resolve = async (purchase: Purchase): Promise<void> => {
    const url = `${baseUrl}/vouchers/${purchase.voucherId}/orders`;
    while (!giveUp.aborted) {
      const answer = await buyOnce(agent, url, purchase, tokens.get(purchase.userId) ?? '');
      const attempt = { ...answer, voucherId: purchase.voucherId };
      tries.push(attempt);
      onTry(attempt);
      if (isFinal(attempt)) return;
      await sleep(betweenTriesMs);
    }
  };
  const startedAt = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    for (let own = next++; own < purchases.length && !giveUp.aborted; own = next++) {
      const dueMs = (own * 1_000) / purchasesPerSecond - (performance.now() - startedAt);
      if (dueMs > 0) await sleep(dueMs, undefined, { signal: giveUp }).catch(() => {});
      await resolve(purchases[own] as Purchase);
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    await agent.destroy();
  }
  return tries;
}

async function tokensOf(
  purchases: readonly Purchase[],
  tokenSecret: string,
): Promise<Map<string, string>> {
  const users = [...new Set(purchases.map(({ userId }) => userId))];
  const token = async (user: string) => [user, await signToken(tokenSecret, user, 'user')] as const;
  return new Map(await Promise.all(users.map(token)));
}

/** The purchases that no try brought a final answer for. */
export function unresolved(purchases: readonly Purchase[], tries: readonly Try[]): Purchase[] {
  const byRequest = groupBy(tries, ({ requestId }) => requestId);
  return purchases.filter(({ requestId }) => !byRequest.get(requestId)?.some(isFinal));
}
