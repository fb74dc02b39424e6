/**
 * The workload of a rush: some users send many requests at once, and many users want little stock.
 * Seeded and bounded.
 */
import { Agent } from 'undici';
import type { Attempt } from '../../service/audit/facts.ts';
import type { Connections } from '../../service/connections/connections.ts';
import { signToken } from '../../service/http/tokens.ts';
import type { Lab } from '../environment/lab.ts';
import { buyOnce, type Intent } from './buy-once.ts';
import { drained } from './drained.ts';
import { putOnSale } from './sale.ts';
import { shuffler } from './shuffle.ts';

export interface Rush extends Pick<Lab, 'baseUrl' | 'tokenSecret'> {
  readonly voucherId: string;
  readonly users: number;
  readonly seed: number;
  /** How many requests an eager user sends at once: every tenth user; the others send one. */
  readonly requestsPerEagerUser: number;
  readonly pauses?: readonly string[];
  /** Called with each attempt when it is answered. */
  readonly onAttempt?: (attempt: Attempt) => void;
}

type Size = Pick<Rush, 'users' | 'requestsPerEagerUser'>;

const connections = 256;
const answerWithinMs = 30_000;

const eagerUsers = (users: number): number => Math.max(1, Math.floor(users / 10));

/** How many requests come first; all of them, when no user is eager. */
const firstRequests = ({ users, requestsPerEagerUser }: Size): number =>
  requestsPerEagerUser > 1 ? eagerUsers(users) * requestsPerEagerUser : users;

/**
 * The requests in order. Eager users come first, each with its requests in a row: a balancer sends
 * neighbours to different instances. Then all other users.
 */
export function planRush({
  users,
  seed,
  requestsPerEagerUser,
}: Size & Pick<Rush, 'seed'>): Intent[] {
  const shuffle = shuffler(seed);
  const intents = (user: number, times: number) =>
    Array.from({ length: times }, (_, time) => ({
      userId: String(user),
      requestId: `seed-${seed}-${user}-${time}`,
    }));
  const all = Array.from({ length: users }, (_, index) => index + 1);
  const eager = eagerUsers(users);
  return [
    ...shuffle(all.slice(0, eager)).flatMap((user) => intents(user, requestsPerEagerUser)),
    ...shuffle(all.slice(eager)).flatMap((user) => intents(user, 1)),
  ];
}

/** Sends requests without waiting for answers (but for the first one), and keeps every answer. */
export async function rush(plan: Rush): Promise<Attempt[]> {
  const intents = planRush(plan);
  const userIds = [...new Set(intents.map(({ userId }) => userId))];
  const tokens = await Promise.all(
    userIds.map((userId) => signToken(plan.tokenSecret, userId, 'user')),
  );
  const tokenOf = new Map(userIds.map((userId, index) => [userId, tokens[index] ?? '']));
  const agent = new Agent({
    connections,
    pipelining: 1,
    headersTimeout: answerWithinMs,
    bodyTimeout: answerWithinMs,
  });
  const url = `${plan.baseUrl}/vouchers/${plan.voucherId}/orders`;
  const headers = plan.pauses?.length ? { 'x-lab-pauses': plan.pauses.join(',') } : {};
  try {
    const buy = async (intent: Intent) => {
      const token = tokenOf.get(intent.userId) ?? '';
      const attempt = await buyOnce(agent, url, intent, token, headers);
      plan.onAttempt?.(attempt);
      return attempt;
    };
    const front = firstRequests(plan);
    const first = intents.slice(0, front).map(buy);
    await Promise.race(first); // Then the eager users are inside, and have stock to compete for.
    return await Promise.all([...first, ...intents.slice(front).map(buy)]);
  } finally {
    await agent.close();
  }
}

const warmUpUsers = 150;
/** Until every instance has answered; Node's own cluster may leave one out of a rush. */
const roundsMax = 5;

interface WarmUp extends Pick<Rush, 'seed' | 'requestsPerEagerUser'> {
  readonly rung: string;
}

/**
 * The same rush on a voucher that is not audited. A cold instance answers late: then the first
 * sells out before the others have begun, and no race can show.
 */
export async function warmUp(
  lab: Pick<Lab, 'baseUrl' | 'tokenSecret' | 'shape'>,
  { rung, seed, requestsPerEagerUser }: WarmUp,
  connections: Connections,
): Promise<void> {
  const { baseUrl, tokenSecret, shape } = lab;
  const sale = { title: 'warm-up', stock: warmUpUsers, rung, lab: { workMs: 1 } };
  const voucherId = await putOnSale(lab, sale);
  const answering = new Set<string | undefined>();
  const load = { baseUrl, tokenSecret, voucherId, users: warmUpUsers, requestsPerEagerUser };
  for (let round = 0; round < roundsMax && answering.size < shape.instances; round++) {
    const attempts = await rush({ ...load, seed: seed + round });
    for (const { instance } of attempts) answering.add(instance);
  }
  await drained(connections, voucherId);
}
