/**
 * Buys by the purchase of a rung, in this process: no HTTP, no token, no instance. For millions of
 * orders, where Redis, the workers and MySQL are what is measured.
 */

import { pino } from 'pino';
import type { Order, Voucher } from '../../service/domain.ts';
import { openRung } from '../../service/ladder/open-rung.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import { openOrderIds } from '../../service/order-ids/open-order-ids.ts';
import { openVouchers } from '../../service/purchase/vouchers.ts';
import { labError } from '../errors.ts';
import { orderDepth } from '../stage/order-depth.ts';
import { beginPeriod, type CpuByRole, labProcesses, sumOfServers } from './cpu-by-role.ts';
import { faultsOfRecording, otherAnswers } from './faults-of-figures.ts';
import { Measured } from './light-load.ts';
import { type Bench, countConfirmed, drainMs } from './measure.ts';
import type { LoadResult } from './wrk.ts';

/** A part of a load, by users that did not buy before. */
export interface SoldSlice {
  readonly recorded: number;
  /** How many users it had at most: the next one begins after them. */
  readonly users: number;
  /** Accepted orders per second. */
  readonly rate: number;
  readonly p99Ms: number;
  readonly lagMs: number;
  /** Microseconds of all servers for each accepted order. */
  readonly cpu: number | null;
  readonly otherWork: number | null;
  readonly faults: readonly string[];
}

/** @param most how many orders are wanted; a load by HTTP may sell more. */
export type SellSlice = (firstUser: number, most: number) => Promise<SoldSlice>;

/** The most queued orders: the next slice begins when all are recorded. */
const ordersOfSlice = 20_000;

/** @throws UNKNOWN_VOUCHER */
export async function withScriptBuyer<T>(
  bench: Bench,
  rung: RungName,
  voucherId: string,
  work: (sell: SellSlice) => Promise<T>,
): Promise<T> {
  const { connections, lab, load, signal } = bench;
  const { purchase } = await openRung(rung, connections);
  const voucher = await openVouchers(connections).find(voucherId);
  if (!voucher) throw labError('UNKNOWN_VOUCHER', voucherId);
  const orderIds = await openOrderIds(connections, pino({ level: 'silent' }));
  const depth = orderDepth(connections, rung);
  const sellTo = async (userId: string): Promise<string> => {
    const order: Order = { id: await orderIds.next(), voucherId, userId, requestId: `s${userId}` };
    const outcome = await purchase(order, voucher as Voucher);
    return outcome.kind === 'refused' ? outcome.reason : outcome.kind;
  };
  const sell: SellSlice = async (firstUser, most) => {
    signal.throwIfAborted();
    const users = Math.min(ordersOfSlice, most);
    const endPeriod = beginPeriod(() => labProcesses(lab));
    const bought = await buyAll(firstUser, users, load.connections, sellTo);
    const lagMs = await drainMs(depth);
    const { time, otherWork } = endPeriod();
    const recorded = await countConfirmed(connections, voucherId, firstUser);
    return { users, lagMs, otherWork, recorded, ...figuresOfScript(bought, time, recorded) };
  };
  try {
    return await work(sell);
  } finally {
    orderIds.close();
  }
}

export interface ScriptLoad extends Pick<LoadResult, 'answers' | 'p99Ms'> {
  readonly seconds: number;
}

async function buyAll(
  firstUser: number,
  users: number,
  atOnce: number,
  sellTo: (userId: string) => Promise<string>,
): Promise<ScriptLoad> {
  const measured = new Measured();
  let next = firstUser;
  const buyer = async (): Promise<void> => {
    while (next < firstUser + users) {
      const sentAt = performance.now();
      measured.add(await sellTo(String(next++)), sentAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, buyer));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, ...measured.result() };
}

/** The figures count when every order was accepted, and every accepted one recorded. */
export function figuresOfScript(
  { seconds, answers, p99Ms }: ScriptLoad,
  time: CpuByRole,
  recorded: number,
) {
  const { accepted = 0 } = answers;
  const servers = sumOfServers(time);
  const name = 'by script';
  const faults = [
    ...otherAnswers(name, answers),
    ...faultsOfRecording(name, accepted, recorded, 0),
  ];
  if (servers === null) faults.push(`${name}: a process ended or started`);
  const cpu = servers === null ? null : servers / accepted;
  return { rate: accepted / seconds, p99Ms, cpu, faults };
}
