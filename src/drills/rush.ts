/** The load: some users many times at once, and many users at once on little stock. Seeded and bounded. */

import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { Agent, request } from 'undici';
import { z } from 'zod';
import type { Attempt } from '../audit/facts.ts';
import { signToken } from '../http/tokens.ts';

export interface Rush {
  readonly baseUrl: string;
  readonly tokenSecret: string;
  readonly voucherId: string;
  readonly users: number;
  readonly seed: number;
  /** One user in ten insists, and sends so many requests at once. */
  readonly insistence: number;
  readonly holds?: readonly string[];
}

const connections = 256;
const answerWithinMs = 30_000;

interface Intent {
  readonly userId: string;
  readonly requestId: string;
}

const insistentUsers = (users: number): number => Math.max(1, Math.floor(users / 10));

/** How many requests come first; all of them, where nobody insists. */
const insistentRequests = ({ users, insistence }: Pick<Rush, 'users' | 'insistence'>): number =>
  insistence > 1 ? insistentUsers(users) * insistence : users;

/**
 * Who asks, in which order. Those who insist come first, each with a row of requests: whoever shares requests out sends
 * neighbours to different instances. Then everybody else.
 */
export function planRush({ users, seed, insistence }: Pick<Rush, 'users' | 'seed' | 'insistence'>): Intent[] {
  const generator = xoroshiro128plus(seed);
  const shuffle = <Item>(items: Item[]): Item[] => {
    for (let last = items.length - 1; last > 0; last--) {
      const other = uniformInt(generator, 0, last);
      [items[last], items[other]] = [items[other] as Item, items[last] as Item];
    }
    return items;
  };
  const intents = (user: number, times: number) =>
    Array.from({ length: times }, (_, time) => ({
      userId: String(user),
      requestId: `seed-${seed}-${user}-${time}`,
    }));
  const all = Array.from({ length: users }, (_, index) => index + 1);
  const insistent = insistentUsers(users);
  return [
    ...shuffle(all.slice(0, insistent)).flatMap((user) => intents(user, insistence)),
    ...shuffle(all.slice(insistent)).flatMap((user) => intents(user, 1)),
  ];
}

/** Sends requests without waiting for answers (but for the first), and keeps what every client was told. */
export async function rush(plan: Rush): Promise<Attempt[]> {
  const intents = planRush(plan);
  const userIds = [...new Set(intents.map(({ userId }) => userId))];
  const tokens = await Promise.all(userIds.map((userId) => signToken(plan.tokenSecret, userId, 'user')));
  const tokenOf = new Map(userIds.map((userId, index) => [userId, tokens[index] ?? '']));
  const agent = new Agent({
    connections,
    pipelining: 1,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
  });
  const url = `${plan.baseUrl}/vouchers/${plan.voucherId}/orders`;
  const held = plan.holds?.length ? { 'x-lab-holds': plan.holds.join(',') } : {};
  try {
    const buy = (intent: Intent) => buyOnce(agent, url, intent, tokenOf.get(intent.userId) ?? '', held);
    const front = insistentRequests(plan);
    const first = intents.slice(0, front).map(buy);
    await Promise.race(first); // Everybody else comes once those who insist are in: they have the stock to fight for.
    return await Promise.all([...first, ...intents.slice(front).map(buy)]);
  } finally {
    await agent.close();
  }
}

const Answer = z.object({ id: z.string(), code: z.string(), orderId: z.string() }).partial();

/** One request, and what its client was told. */
export async function buyOnce(
  agent: Agent,
  url: string,
  intent: Intent,
  token: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Attempt> {
  const askedAt = performance.now();
  const told = (rest: Pick<Attempt, 'outcome' | 'reason' | 'orderId' | 'instance' | 'tries'>): Attempt => ({
    ...intent,
    ...rest,
    latencyMs: performance.now() - askedAt,
  });
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${token}`, 'idempotency-key': intent.requestId, ...more },
    });
    const { id, code, orderId } = Answer.parse(await body.json());
    const instance = String(headers['x-instance'] ?? 'nginx');
    if (statusCode === 201 || statusCode === 202) {
      const tries = Number(headers['x-tries'] ?? 1);
      return told({ outcome: 'accepted', instance, tries, ...(id && { orderId: id }) });
    }
    const outcome =
      code === undefined || code === 'outcome-unknown' || statusCode === 500 ? 'unknown' : 'refused';
    return told({ outcome, instance, reason: code ?? `status ${statusCode}`, ...(orderId && { orderId }) });
  } catch (error) {
    return told({ outcome: 'unknown', reason: String(error) }); // No answer: it may have happened.
  }
}
