/** What a drill does before its load, and after it: warm up the service, and collect the facts. */
import type { Attempt, Facts } from '../../audit/facts.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { RungName } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { drained } from '../workload/drained.ts';
import { warmUp } from '../workload/warm-up.ts';

export async function warmRung(lab: Lab, rung: RungName, seed: number): Promise<void> {
  const { baseUrl } = lab;
  const request = { rung, instances: lab.shape.instances, seed, baseUrl, requestsPerEagerUser: 1 };
  await withConnections(lab, (connections) => warmUp(request, connections));
}

/** Everything about the sale of this voucher, once its queue is empty. */
export async function collectSale(
  lab: Lab,
  voucherId: string,
  attempts: readonly Attempt[],
): Promise<Facts> {
  const facts = await withConnections(lab, (connections) => drained(connections, voucherId));
  return { ...facts, attempts, ...readHistory(lab.historyFolder, voucherId) };
}
