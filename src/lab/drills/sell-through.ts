/**
 * Steady purchases of one voucher of a rung, through one outage of its lock servers after the
 * other.
 */
import type { Facts } from '../../service/audit/facts.ts';
import type { LockService, Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName } from '../../service/ladder/rungs.ts';
import { type FaultName, faultOn } from '../faults/faults.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import { leftLocks } from './left-locks.ts';
import { type Away, leavesLocks, type Outage, type OutagePlan, sellsWithout } from './outages.ts';
import { hasSaleSince, now } from './try-times.ts';
import { warmRung } from './warm-rung.ts';

export interface SellThrough {
  readonly rung: RungName;
  readonly plans: readonly OutagePlan[];
  /** How long each outage lasts, and each calm before and after one. */
  readonly partMs: number;
  readonly seed: number;
  readonly title: string;
}

const perSecond = 40;
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

/** The service has the shape that the load needs. */
export async function sellThrough(
  stage: Stage,
  request: SellThrough,
): Promise<{ outages: Outage[]; facts: Facts }> {
  const { rung, plans, partMs, seed, title } = request;
  const users = Math.ceil(((partMs / 1_000) * partsOf(plans) + spareSeconds) * perSecond);
  await warmRung(stage, rung, seed);
  const voucherId = await stage.putOnSale({ title, stock: users, rung });
  const load = { name: rung, perSecond, purchases: planPurchases(voucherId, users, seed) };
  const outages = await stage.during(load, (tries) =>
    playOutages(stage, request, voucherId, tries),
  );
  return { outages, facts: await stage.facts(voucherId) };
}

async function playOutages(
  stage: Stage,
  { rung, plans, partMs }: SellThrough,
  voucherId: string,
  tries: readonly Try[],
): Promise<Outage[]> {
  const service = lockServiceOf(rung);
  const outages: Outage[] = [];
  const sold = (since: bigint) =>
    stage.until('a sale', waitForSaleMs, () => hasSaleSince(tries, since));
  await sold(now());
  let calmFrom = now();
  await stage.rest(partMs);
  for (const plan of plans) {
    const times = await outage(stage, plan, partMs);
    await sold(times.backAt).catch(() => stage.signal.throwIfAborted()); // The verdict says so.
    const resumedAt = now();
    await stage.rest(partMs);
    const until = now();
    const left = await leftLocks(stage.lab, voucherId, service);
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

const faultOf = { stopped: 'stop', hung: 'pause', late: 'delay' } as const satisfies Record<
  Away,
  FaultName
>;

async function outage(stage: Stage, { servers, away }: OutagePlan, forMs: number) {
  const stopAt = now();
  const inject = (server: string) => stage.inject(faultOn(faultOf[away], server, lateByMs));
  const undos = await Promise.all(servers.map(inject));
  const downAt = now();
  await stage.rest(forMs);
  const startAt = now();
  await Promise.all(undos.map((undo) => undo()));
  return { stopAt, downAt, startAt, backAt: now() };
}
