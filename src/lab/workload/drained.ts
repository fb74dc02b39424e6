/** After a load: the facts of a voucher once the queue is empty. */
import { collectFacts } from '../../audit/collect.ts';
import type { Facts } from '../../audit/facts.ts';
import type { Connections } from '../../connections/connections.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { UnknownVoucher } from '../errors.ts';

const drainWithinMs = 30_000;

/** After the deadline the facts as they are: the audit then says "unknown". */
export async function drained(connections: Connections, voucherId: string): Promise<Facts> {
  const [facts] = await allDrained(connections, [voucherId]);
  return facts as Facts;
}

/** The facts of several vouchers, in this order, after one wait. */
export async function allDrained(
  connections: Connections,
  voucherIds: readonly string[],
): Promise<Facts[]> {
  const redis = connections.redis('admin');
  const queues = [...new Set(voucherIds.map((id) => connections.saleKeys.of(id).queued))];
  const areEmpty = async () => {
    const depths = await Promise.all(queues.map((queued) => redis.hlen(queued)));
    return depths.every((depth) => depth === 0);
  };
  await waitUntil('the queue to drain', drainWithinMs, areEmpty).catch(() => {});
  const all: Facts[] = [];
  for (const voucherId of voucherIds) {
    const facts = await collectFacts(connections, voucherId);
    if (!facts) throw new UnknownVoucher(voucherId);
    all.push(facts);
  }
  return all;
}
