/** After a load: the facts of a voucher once its queue is empty. */
import { collectFacts } from '../../audit/collect.ts';
import type { Facts } from '../../audit/facts.ts';
import type { Connections } from '../../connections/connections.ts';
import { waitUntil } from '../environment/wait-until.ts';

const drainWithinMs = 30_000;

/** After the deadline the facts as they are: the audit then says "unknown". */
export async function drained(connections: Connections, voucherId: string): Promise<Facts> {
  const { queued } = connections.saleKeys.of(voucherId);
  const isEmpty = async () => (await connections.redis('admin').hlen(queued)) === 0;
  await waitUntil('the queue to drain', drainWithinMs, isEmpty).catch(() => {});
  const facts = await collectFacts(connections, voucherId);
  if (!facts) throw new Error(`voucher ${voucherId} does not exist any more`);
  return facts;
}
