/** One load of an open model, on a voucher with enough stock for all. */

import { waitUntil } from '../environment/wait-until.ts';
import { orderDepth } from '../stage/order-depth.ts';
import type { NewSale } from '../workload/sale.ts';
import { beginCpuPeriod, type CpuByRole, cpuPerRequest } from './cpu-by-role.ts';
import { labProcesses } from './lab-processes.ts';
import { type Bench, countConfirmed, putVoucherOnSale } from './measure.ts';
import { machineTime, otherShare } from './other-work.ts';
import { type Answers, countAnswers } from './wrk.ts';

export interface OpenLoad {
  readonly accepted: number;
  readonly recorded: number;
  /** Microseconds for each answer; `load` is the generator, on the same machine. */
  readonly cpu: CpuByRole;
  /** The share of the machine's CPU time that was neither the lab's nor the generator's. */
  readonly otherWork: number | null;
}

/** Until its last order is recorded. @param send sends the purchases, and waits for the answers. */
export async function measureOpen<Sent extends { readonly answers: Answers }>(
  { lab, connections }: Pick<Bench, 'lab' | 'connections'>,
  rung: string,
  stock: number,
  send: (voucherId: string) => Promise<Sent>,
  more: Partial<NewSale> = {},
): Promise<Sent & OpenLoad> {
  const voucherId = await putVoucherOnSale({ lab, connections }, rung, stock, more);
  const endPeriod = beginCpuPeriod(() => labProcesses(lab));
  const before = machineTime();
  const sent = await send(voucherId);
  const depth = orderDepth(connections, rung);
  await waitUntil('the orders to be recorded', 300_000, async () => (await depth()) === 0);
  const time = endPeriod();
  const otherWork = otherShare(before, machineTime(), time);
  const cpu = cpuPerRequest(time, countAnswers(sent.answers));
  const { accepted = 0 } = sent.answers;
  const recorded = await countConfirmed(connections, voucherId);
  return { ...sent, accepted, recorded, cpu, otherWork };
}
