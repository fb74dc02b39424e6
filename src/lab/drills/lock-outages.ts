/**
 * Outages of the lock servers of a rung: what its row claims about them is what is expected. A rung
 * sells on while what is left is enough, and else it refuses and says why. The drill stops one, two
 * and three of the independent masters under steady load, and starts them again: on the rungs that
 * need all of them, a majority, and one other Redis.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { lockEvents } from '../../service/audit/read-history.ts';
import type { LockService, Rung } from '../../service/ladder/rung.ts';
import { ladder, type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import { defaultShape, type Lab } from '../environment/lab.ts';
import { lockKeys, locksNow } from '../environment/locks-now.ts';
import { type FaultName, faultOn } from '../faults/faults.ts';
import { sum } from '../stage/counts.ts';
import { type Bilingual, joinedTexts } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import {
  type AuditedFinding,
  auditAll,
  countViolations,
  findingsOf,
  type SaleAudit,
} from './audited.ts';
import type { Drill } from './drill.ts';
import {
  countSales,
  expected,
  judgeOutages,
  meanwhile,
  type PlayedOutages,
  resumedAfterMs,
  type SeenOutage,
} from './expectations.ts';
import { brokenFor, type Outage, playOutages, type Scene } from './outage.ts';
import { phasesAround, phaseTable } from './phases.ts';

/** Longer than a client waits, and shorter than an outage: requests arrive during it and after. */
const lateByMs = 1_500;
/** Of the time of an outage: the calm before it, and after the look for left locks. */
const calmShare = 0.25;
const unavailable = 'lock-service-unavailable';

const faultOf = { stopped: 'stop', hung: 'pause', late: 'delay' } as const satisfies Record<
  string,
  FaultName
>;
/**
 * Stopped: their connections end. Hung: their connections stay, and nothing answers (SIGSTOP).
 * Late: what is sent to them arrives after its sender has given up.
 */
export type Away = keyof typeof faultOf;

const rungs = ['multilock', 'redlock', 'redis-atomic'] as const;
/** The claim of the drill: sales are back so soon after the servers. */
const soldAgainWithinMs = 2_000;

/**
 * Violated when an outage was not as its row expects (`lockOutage`), when an audit found a broken
 * promise, or when an accepted order is not recorded; `unknown` when nobody tried to buy.
 */
export const stopMasters: Drill = {
  about: {
    en: '1, 2 and 3 lock servers stopped and started while multilock, redlock, redis-atomic sell',
    zh: 'multilock、redlock、redis-atomic 下单时，停止并启动 1、2、3 个锁服务器',
  },
  takesMinutes: 1,
  async play(stage, { seed, minutes }) {
    const targets = rungs.map((rung) => ({
      rung,
      plans: outagesOf(lockServiceOf(rung), 'stopped', seed),
    }));
    const outages = targets.flatMap(({ plans }) => plans).length;
    const partMs = (minutes * 60_000) / (outages * partsOfOutage);
    await stage.serve(defaultShape);
    const loads: PlayedOutages<LockOutage>[] = [];
    for (const target of targets) {
      const title = `stop-masters, seed ${seed}`;
      loads.push(await sellThrough(stage, { ...target, partMs, soldAgainWithinMs, seed, title }));
    }
    const seen = loads.flatMap((load) => load.seen);
    const phases = seen.flatMap((each) => phasesAround(each.row.rung, each));
    const audits = auditAll(loads.map(({ facts }) => facts));
    return {
      ...judgeOutages(loads, { audits, judged: judgedFindings }),
      conclusions: conclusionsOf(seen),
      figures: {
        attempts: sum(loads.map(({ facts }) => facts.attempts?.length ?? 0)),
        violations: countViolations(audits.flatMap(judgedFindings)),
        latestResumptionMs: Math.max(0, ...phases.map(({ resumedAfterMs }) => resumedAfterMs ?? 0)),
      },
      tables: [phaseTable(phases)],
    };
  },
};

/** The time of an outage with the calm before and after it, in times of the outage. */
export const partsOfOutage = 2 + 2 * calmShare;

/** What is done to the lock servers of a rung. */
export interface OutagePlan {
  readonly servers: readonly string[];
  readonly away: Away;
}

export interface LockOutage extends Outage {
  readonly rung: RungName;
  /** `2 of 3 stopped` */
  readonly phase: Bilingual;
}

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

interface LockLoad {
  readonly rung: RungName;
  readonly plans: readonly OutagePlan[];
  /** How long each outage lasts, and the sales after it. */
  readonly partMs: number;
  readonly soldAgainWithinMs: number;
  readonly seed: number;
  readonly title: string;
}

/** The service has the shape that the load needs. */
export async function sellThrough(
  stage: Stage,
  load: LockLoad,
): Promise<PlayedOutages<LockOutage>> {
  const { rung, plans, partMs, seed, title } = load;
  const rows = plans.map((plan) => lockOutage(plan, load));
  await stage.warmUp(rung, seed);
  return playOutages(stage, rows, {
    title,
    seed,
    rung,
    calmMs: partMs * calmShare,
    forMs: 3 * partMs,
  });
}

export const awayInChinese = { stopped: '停止', hung: '暂停', late: '变慢' } as const;

type Claims = Pick<LockLoad, 'rung' | 'partMs' | 'soldAgainWithinMs'>;

export function lockOutage({ servers, away }: OutagePlan, claims: Claims): LockOutage {
  const { rung, partMs, soldAgainWithinMs } = claims;
  const service = lockServiceOf(rung);
  const [some, all] = [servers.length, service.servers.length];
  const phase = { en: `${some} of ${all} ${away}`, zh: `${some}/${all} 台${awayInChinese[away]}` };
  const name = { en: `${rung}, ${phase.en}`, zh: `${rung}，${phase.zh}` };
  const noRefusal = {
    en: `no attempt was refused as ${unavailable}`,
    zh: `没有一次请求以 ${unavailable} 被拒绝`,
  };
  const { sellsOn, sellsNothing, refusesAs, soldAgainWithin, noLocksLeft } = expected;
  return {
    rung,
    phase,
    name,
    needs: [expected.triedMeanwhile],
    expects: [
      ...(sellsWithout(service, servers.length)
        ? [sellsOn]
        : [sellsNothing, refusesAs(unavailable, noRefusal)]),
      soldAgainWithin(soldAgainWithinMs),
      ...(leavesLocks(rung) ? [] : [noLocksLeft]),
    ],
    play: async (scene: Scene) => {
      const { stage, voucherId } = scene;
      const faults = servers.map((server) => faultOn(faultOf[away], server, lateByMs));
      const mended = await brokenFor(partMs, ...faults)(scene);
      const later = async () => {
        await stage.rest(partMs); // A lease that a purchase has now may end meanwhile.
        return { leftLocks: await leftLocks(stage.lab, voucherId, service) };
      };
      return { ...mended, later };
    },
  };
}

/** The claim of a rung about an outage, from its row. */
export const sellsWithout = ({ servers, needed }: LockService, away: number): boolean =>
  servers.length - away >= needed;

/** The claim of a rung: what is granted to a caller that gave up stays. */
export function leavesLocks(name: string): boolean {
  const { breaks } = rungNamed(name);
  return breaks.some(({ under, check }) => under === 'servers-hung' && check === 'progress');
}

/** A grant or a release that is on its way now has been noted by then. */
const settledMs = 2_000;
const betweenLooksMs = 250;

/**
 * How many resources of this voucher are locked by nobody, on so many servers that nobody can
 * acquire them; null where the locks are not in Redis.
 */
export async function leftLocks(
  lab: Lab,
  voucherId: string,
  service: LockService,
): Promise<number | null> {
  if (!service.servers.every((name) => name.startsWith('redis'))) return null;
  const until = performance.now() + settledMs;
  let left = await lockedByNobody(lab, voucherId, service);
  while (left.size > 0 && performance.now() < until) {
    await sleep(betweenLooksMs);
    const still = await lockedByNobody(lab, voucherId, service);
    left = new Set([...left].filter((each) => still.has(each)));
  }
  return left.size;
}

/** The keys come first: a lock that was granted since has its line in the history. */
async function lockedByNobody(
  lab: Lab,
  voucherId: string,
  { servers, needed }: LockService,
): Promise<Set<string>> {
  const keys = (await lockKeys(lab)).filter(
    ({ server, resource }) =>
      servers.includes(server) && `${resource}:`.startsWith(`voucher:${voucherId}:`),
  );
  const abandoned = locksNow(lockEvents(lab.historyFolder), keys).filter(
    ({ server, holders }) => server !== null && holders.length === 0,
  );
  const blocking = servers.length - needed + 1;
  const byResource = Map.groupBy(abandoned, ({ resource }) => resource);
  return new Set([...byResource].filter(([, on]) => on.length >= blocking).map(([name]) => name));
}

/**
 * `progress` counts too, where the rung claims that no lock stays behind: a release that a server
 * did not hear is sent again.
 */
export function judgedFindings(audited: SaleAudit): AuditedFinding[] {
  const leaves = leavesLocks(audited.facts.rung);
  return findingsOf(audited).filter(({ finding }) => !leaves || finding.check !== 'progress');
}

/** Of each rung: with how many servers away it sold on, and how soon it was back. */
export function conclusionsOf(outages: readonly SeenOutage<LockOutage>[]): Bilingual[] {
  return [...Map.groupBy(outages, ({ row }) => row.rung)].map(([rung, own]) => {
    const selling = phasesIn(own.filter(hasSold));
    const standing = phasesIn(own.filter((each) => !hasSold(each)));
    const back = own.map(resumedAfterMs);
    const ms = Math.max(0, ...back.map(Number));
    const { en, zh } = joinedTexts([
      ...(selling.en ? [{ en: `sold on with ${selling.en}`, zh: `${selling.zh} 时继续成交` }] : []),
      ...(standing.en
        ? [{ en: `sold nothing with ${standing.en}`, zh: `${standing.zh} 时没有成交` }]
        : []),
      back.includes(null)
        ? { en: 'it did not sell again after each of them', zh: '之后没有全部恢复' }
        : { en: `it sold again within ${ms} ms`, zh: `修复后 ${ms} ms 内恢复成交` },
    ]);
    return { en: `${rung} ${en}.`, zh: `${rung}：${zh}。` };
  });
}

const hasSold = (outage: SeenOutage): boolean => countSales(meanwhile(outage)) > 0;

const phasesIn = (outages: readonly SeenOutage<LockOutage>[]): Bilingual => ({
  en: outages.map(({ row }) => row.phase.en).join(', '),
  zh: outages.map(({ row }) => row.phase.zh).join('、'),
});
