/** Before a rush and after it: warm instances, and an empty queue. */
import { collectFacts } from '../audit/collect.ts';
import type { Facts } from '../audit/facts.ts';
import type { Connections } from '../connections/connections.ts';
import { waitUntil } from '../lab/waiting.ts';
import { putOnSale } from './operator.ts';
import type { RunRequest } from './run-rung.ts';
import { rush } from './rush.ts';
import { defaults } from './walk.ts';

const drainWithinMs = 30_000;
const rehearsalUsers = 150;
/** Until every instance has answered; Node's own cluster may leave one out of a rush. */
const mostRounds = 5;

/**
 * The same rush on a voucher that nobody audits, so that every instance has its connections open and its code compiled
 * when it counts: else the first of them sells out before the others have begun, and no race can show.
 */
export async function rehearse(
  request: RunRequest,
  baseUrl: string,
  connections: Connections,
): Promise<void> {
  const { rung, instances, seed } = request;
  const tokenSecret = connections.config.TOKEN_SECRET;
  const sale = { title: 'rehearsal', stock: rehearsalUsers, rung, workMs: 1, retries: 0 };
  const voucherId = await putOnSale(baseUrl, tokenSecret, instances, sale);
  const answering = new Set<string | undefined>();
  for (let round = 0; round < mostRounds && answering.size < instances; round++) {
    const attempts = await rush({
      baseUrl,
      tokenSecret,
      voucherId,
      users: rehearsalUsers,
      seed: seed + round,
      insistence: defaults.insistence,
    });
    for (const { instance } of attempts) answering.add(instance);
  }
  await drained(connections, voucherId);
}

/** The facts once nothing is queued; or as they are when the deadline passes, and the audit then says "unknown". */
export async function drained(connections: Connections, voucherId: string): Promise<Facts> {
  const collect = () => collectFacts(connections.mysql(), connections.redis('admin'), voucherId);
  let facts = await collect();
  await waitUntil('the queue to drain', drainWithinMs, async () => {
    facts = await collect();
    return facts?.redis?.queued.length === 0 || facts?.redis === undefined;
  }).catch(() => {});
  if (!facts) throw new Error(`voucher ${voucherId} is gone`);
  return facts;
}
