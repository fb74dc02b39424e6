/**
 * Steady purchases of one voucher of a rung, through one outage of its lock servers after the
 * other.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Facts } from '../../audit/facts.ts';
import type { LockService, Rung } from '../../ladder/rung.ts';
import { ladder, type RungName } from '../../ladder/rungs.ts';
import type { Lab } from '../environment/lab.ts';
import { proxyNamed } from '../environment/servers/proxies.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { delayRequests } from '../faults/delay-requests.ts';
import type { Fault } from '../faults/fault.ts';
import { pauseServer } from '../faults/pause-server.ts';
import { stopServer } from '../faults/stop-server.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import { collectSale, warmRung } from './around-load.ts';
import { leftLocks } from './left-locks.ts';
import { type Away, leavesLocks, type Outage, type OutagePlan, sellsWithout } from './outages.ts';
import { buyRecorded, inject } from './recorded.ts';
import type { Recorder } from './timeline.ts';
import { hasSaleSince, now } from './try-times.ts';

export interface SellThrough {
  readonly rung: RungName;
  readonly plans: readonly OutagePlan[];
  /** How long each outage lasts, and each calm before and after one. */
  readonly partMs: number;
  readonly seed: number;
  readonly title: string;
  readonly signal: AbortSignal;
  readonly recorder: Recorder;
}

const purchasesPerSecond = 40;
/** Servers need time to stop and start, beside the parts. */
const spareSeconds = 60;
/** Longer than any claim, so that the verdict says how late they were. */
const waitForSaleMs = 10_000;

/** The calm before the first outage, then each outage and the calm after it. */
export const partsOf = (plans: readonly OutagePlan[]): number => 2 * plans.length + 1;

/** A rung without lock servers has none. */
export function lockServiceOf(rung: RungName): LockService {
  const { lockService = { servers: [], needed: 0 } }: Rung = ladder[rung];
  return lockService;
}

/** 1, 2, … and all of its lock servers; the seed says which is first. */
export function outagesOf({ servers }: LockService, away: Away, seed: number): OutagePlan[] {
  const first = seed % servers.length;
  const order = [...servers.slice(first), ...servers.slice(0, first)];
  return servers.map((_, index) => ({ servers: order.slice(0, index + 1), away }));
}

/** The lab has the shape that the load needs. */
export async function sellThrough(
  lab: Lab,
  request: SellThrough,
): Promise<{ outages: Outage[]; facts: Facts }> {
  const { rung, plans, partMs, seed, title, recorder } = request;
  const tokenSecret = lab.tokenSecret;
  const users = Math.ceil(((partMs / 1_000) * partsOf(plans) + spareSeconds) * purchasesPerSecond);
  await warmRung(lab, rung, seed);
  const sale = { title, stock: users, rung };
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
  const giveUp = new AbortController();
  const tries: Try[] = [];
  const load = {
    ...{ baseUrl: lab.baseUrl, tokenSecret, purchasesPerSecond, giveUp: giveUp.signal },
    onTry: (attempt: Try) => void tries.push(attempt),
  };
  const buying = buyRecorded(rung, planPurchases(voucherId, users, seed), load, recorder);
  try {
    const outages = await playOutages(lab, request, voucherId, tries);
    giveUp.abort();
    await buying;
    return { outages, facts: await collectSale(lab, voucherId, tries) };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying]);
  }
}

async function playOutages(
  lab: Lab,
  { rung, plans, partMs, signal, recorder }: SellThrough,
  voucherId: string,
  tries: readonly Try[],
): Promise<Outage[]> {
  const service = lockServiceOf(rung);
  const outages: Outage[] = [];
  const rest = () => sleep(partMs, undefined, { signal });
  await sold(tries, now());
  let calmFrom = now();
  await rest();
  for (const plan of plans) {
    const times = await outage(lab, plan, rest, recorder);
    await sold(tries, times.backAt).catch(() => {}); // Then the verdict says so.
    const resumedAt = now();
    await rest();
    const until = now();
    const left = await leftLocks(lab, voucherId, service);
    const sells = sellsWithout(service, plan.servers.length);
    const claims = { sells, leavesLocks: leavesLocks(rung) };
    const played = { rung, ...plan, masters: service.servers.length, ...claims };
    outages.push({ ...played, calmFrom, ...times, until, tries, leftLocks: left });
    calmFrom = resumedAt;
  }
  return outages;
}

/** Longer than a client waits, and shorter than an outage: requests arrive during it and after. */
const lateByMs = 1_500;

/** The fault of an outage, for one server. */
export const faultOf: Readonly<Record<Away, (server: string) => Fault>> = {
  stopped: stopServer,
  hung: pauseServer,
  late: (server) => delayRequests(proxyNamed(server), lateByMs),
};

/** The servers run again afterwards, also when the drill is interrupted. */
async function outage(
  lab: Lab,
  { servers, away }: OutagePlan,
  rest: () => Promise<void>,
  recorder: Recorder,
) {
  const stopAt = now();
  const faults = servers.map(faultOf[away]);
  const undos = await Promise.all(faults.map((fault) => inject(lab, fault, recorder)));
  const downAt = now();
  let startAt = downAt;
  try {
    await rest();
  } finally {
    startAt = now();
    await Promise.all(undos.map((undo) => undo()));
  }
  return { stopAt, downAt, startAt, backAt: now() };
}

const sold = (tries: readonly Try[], since: bigint): Promise<void> =>
  waitUntil('a sale', waitForSaleMs, () => hasSaleSince(tries, since));
