/**
 * What an accepted order survives. `lua-stream` sells, every order still waits in Redis, and that
 * Redis is killed, loses power, or dies and is replaced by its replica: for each ORDER_DURABILITY.
 * What is lost is what the audit finds: orders whose buyer was told 202, and that MySQL never had.
 */
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import { type Durability, durabilities } from '../../service/config.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { restartServer, stopWorkers } from '../faults/process.ts';
import { cutPower } from '../faults/redis.ts';
import { type Judged, ofName, type Table } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { type Column, inColumns } from '../stage/table.ts';
import { percentiles } from '../workload/percentiles.ts';
import { onePurchaseEach } from '../workload/steady-purchases.ts';
import {
  type AuditedFinding,
  acceptedOrders,
  auditAll,
  findingsOf,
  findingText,
  type SaleAudit,
  unrecordedOrders,
} from './audited.ts';
import type { Drill, DrillOptions } from './drill.ts';
import {
  type Expectation,
  expected,
  judgeOutages,
  type PlayedOutages,
  type SeenOutage,
  type Timeline,
  unless,
} from './expectations.ts';
import { type Outage, playOutages, type Scene } from './outage.ts';
import { cutPreferred } from './promote-behind.ts';
import { answeredAt, isSale, longestGapBetweenMs, now, sentAt, sentBetween } from './try-times.ts';

const waitMs = 30_000;
/** Orders, at least, that only the Redis of now has, before it dies. */
const atRiskMin = 10;
/** After a promotion sales resume by themselves. */
const resumeWithinMs = 10_000;

/** What happens to the Redis that keeps the orders. */
export const losses = ['kill', 'power-loss', 'promotion'] as const;
export type Loss = (typeof losses)[number];

/** `may`: kill -9 loses what Redis has not written yet; with `everysec` that may be something. */
type Claim = 'none' | 'some' | 'may';

export const durabilityClaims: Readonly<Record<Durability, Readonly<Record<Loss, Claim>>>> = {
  everysec: { kill: 'may', 'power-loss': 'some', promotion: 'some' },
  always: { kill: 'none', 'power-loss': 'none', promotion: 'some' },
  replica: { kill: 'none', 'power-loss': 'none', promotion: 'none' },
};

export interface DurabilityCell {
  readonly durability: Durability;
  readonly loss: Loss;
}

const cells: readonly DurabilityCell[] = durabilities.flatMap((durability) =>
  losses.map((loss) => ({ durability, loss })),
);

export const durability: Drill = {
  about: {
    en: 'Redis killed, without power, or replaced: the accepted orders that each durability loses',
    zh: 'Redis 被杀、断电或被替换：每种持久化设置丢失的已受理订单',
  },
  takesMinutes: 1.5,
  play: (stage, options) => endureAll(stage, cells, options),
};

export async function endureAll(
  stage: Stage,
  chosen: readonly DurabilityCell[],
  { seed }: DrillOptions,
): Promise<Judged> {
  // One each: "already ordered" would name an order that was lost, which is the same finding twice.
  const plan = (voucherId: string, users: number) =>
    onePurchaseEach(voucherId, `survives-${seed}`, users);
  const loads: PlayedOutages<LossRow>[] = [];
  for (const cell of chosen) {
    const row = lossOf(cell);
    await stage.serve(shapeOf(cell));
    const load = { title: row.name, seed, calmMs: 500, forMs: waitMs, perSecond: 100, plan };
    loads.push(await playOutages(stage, [row], load).finally(() => stage.lab.heal()));
  }
  return judgeLosses(loads);
}

/** Both have a replica: Sentinels would promote it after a mere restart, too. */
const networkOf = (loss: Loss): Network => (loss === 'promotion' ? 'sentinel' : 'proxied');

const shapeOf = ({ durability, loss }: DurabilityCell): ServiceShape => ({
  instances: 2,
  balancer: 'nginx',
  network: networkOf(loss),
  settings: { ORDER_DURABILITY: durability },
});

type LossRow = Outage & DurabilityCell & { readonly name: string };

/** The workers are away meanwhile, so that every accepted order is in Redis only. */
export const lossOf = (cell: DurabilityCell): LossRow => ({
  ...cell,
  name: `${cell.durability}, ${cell.loss}`,
  loses: true,
  expects: [
    losesAsClaimed(durabilityClaims[cell.durability][cell.loss]),
    expected.soldAgainWithin(waitMs),
    (seen) => {
      const ms = withoutSalesMs(seen);
      return unless(ms <= resumeWithinMs, {
        en: `${ms / 1_000} s without a sale`,
        zh: `${ms / 1_000} 秒没有成交`,
      });
    },
  ],
  play: async (scene) => {
    const backToWork = await scene.stage.inject(stopWorkers);
    const atRisk = await playOf[cell.loss](scene, cell);
    return { mendedAt: now(), atRisk, later: async () => void (await backToWork()) };
  },
});

/** By the answers: a purchase that was sent before may have waited for the new master. */
function withoutSalesMs({ tries, calmFrom, until }: Timeline): number {
  const sales = tries.filter(isSale).map(answeredAt);
  const inside = sales.filter((at) => at >= calmFrom && at < until);
  return longestGapBetweenMs(inside, calmFrom, until);
}

const losesAsClaimed =
  (claim: Claim): Expectation =>
  ({ atRisk = 0 }, facts) => {
    const lost = unrecordedOrders(facts).length;
    if (claim === 'none')
      return unless(lost === 0, {
        en: `${lost} accepted orders were lost, and none may be`,
        zh: `丢了 ${lost} 个已受理的订单，一个也不该丢`,
      });
    const isEnough = claim === 'may' || lost >= Math.max(1, atRisk);
    return unless(isEnough, {
      en: `${atRisk} orders were at risk, and ${lost} were lost`,
      zh: `${atRisk} 个订单有丢失的风险，丢了 ${lost} 个`,
    });
  };

type LossPlay = (scene: Scene, cell: DurabilityCell) => Promise<number>;

/** @returns how many accepted orders nobody but the Redis that died can have had. */
const playOf: Readonly<Record<Loss, LossPlay>> = {
  kill: async ({ stage, soldSince }) => {
    const from = now();
    await stage.until('sales', waitMs, () => soldSince(from) >= atRiskMin);
    await (await stage.inject(restartServer('redis-main')))();
    return 0; // It has what it had written.
  },
  'power-loss': async ({ stage, soldSince }) => {
    let atRisk = 0;
    const isWritten = (sinceMs: number) => {
      const since = now() - BigInt(Math.ceil((performance.now() - sinceMs) * 1e6));
      atRisk = soldSince(since);
      return atRisk >= atRiskMin;
    };
    await (await stage.inject(cutPower('redis-main', isWritten)))();
    return atRisk;
  },
  promotion: losesMaster,
};

/** The replica that is promoted has not heard of the last orders; the other one has. */
async function losesMaster({ stage, voucherId, soldSince }: Scene, { durability }: DurabilityCell) {
  const promote = await cutPreferred(stage);
  const cutAt = now();
  // With `replica` none of these is accepted: that they were sold is unknown to their buyers.
  const sent = () => stage.triesOf(voucherId).filter((each) => sentAt(each) >= cutAt);
  const perhapsSold = () => sent().filter(({ outcome }) => outcome !== 'refused').length;
  const count = durability === 'replica' ? perhapsSold : () => soldSince(cutAt);
  await stage.until('orders without a replica', waitMs, () => count() >= atRiskMin);
  const atRisk = soldSince(cutAt);
  await promote();
  return atRisk;
}

const nameOf = ({ seen }: PlayedOutages<LossRow>): string => seen.map(({ row }) => row.name).join();

export function judgeLosses(loads: readonly PlayedOutages<LossRow>[]): Judged {
  const audits = auditAll(loads.map(({ facts }) => facts));
  const all = loads.map((load) => {
    const own = audits.filter(({ facts }) => facts === load.facts);
    const shown = own.flatMap(findingsOf).filter(isLoss);
    return { load, name: nameOf(load), lost: unrecordedOrders(load.facts).length, shown };
  });
  const broken = all.map(({ name, lost, shown }) =>
    unless(
      lost > 0 === shown.length > 0,
      ofName(name, {
        en: `${lost} orders were lost, and the audit says otherwise`,
        zh: `丢了 ${lost} 个订单，审计却不这么说`,
      }),
    ),
  );
  const survived = loads.flatMap(({ seen, facts }) => seen.map((each) => ({ seen: each, facts })));
  return {
    ...judgeOutages(loads, { audits, judged: unclaimed, broken }),
    asClaimed: all
      .filter(({ load }) => mayLose(load))
      .flatMap(({ name, shown }) => shown.map((each) => ofName(name, findingText(each)))),
    figures: { cells: survived.length },
    tables: [survivalTable(survived)],
  };
}

const mayLose = ({ seen }: PlayedOutages<LossRow>): boolean =>
  seen.every(({ row: { durability, loss } }) => durabilityClaims[durability][loss] !== 'none');

const isLoss = ({ finding }: AuditedFinding): boolean =>
  finding.check === 'no-lost-orders' && finding.verdict === 'violated';

/**
 * Where a loss is claimed, the audit finds it: orders that are lost, or that Redis has forgotten.
 * Nothing else may be wrong.
 */
function unclaimed(audited: SaleAudit, load: PlayedOutages<LossRow>): AuditedFinding[] {
  const isClaimed = (each: AuditedFinding) =>
    isLoss(each) || (each.finding.check === 'redis-matches-mysql' && hasForgotten(load.facts));
  return findingsOf(audited).filter((each) => !(mayLose(load) && isClaimed(each)));
}

/**
 * Redis has forgotten orders that MySQL has, and nothing else: they were recorded before Redis had
 * written them to its file.
 */
function hasForgotten({ redis, mysql, ...facts }: Facts): boolean {
  if (!redis?.buyers) return false;
  const { buyers, stock } = redis;
  const forgotten = confirmed({ ...facts, mysql }).filter(({ userId }) => !(userId in buyers));
  return forgotten.length > 0 && (stock ?? 0) - mysql.stock === forgotten.length;
}

interface Survival {
  readonly seen: SeenOutage<LossRow>;
  readonly facts: Facts;
}

const survivalColumns: readonly Column<Survival>[] = [
  [{ en: 'durability', zh: '持久化' }, ({ seen }) => seen.row.durability],
  [{ en: 'fault', zh: '故障' }, ({ seen }) => seen.row.loss],
  [{ en: 'accepted', zh: '受理' }, ({ facts }) => acceptedOrders(facts).size],
  [{ en: 'lost', zh: '丢失' }, ({ facts }) => unrecordedOrders(facts).length],
  [
    { en: 'unknown', zh: '未知' },
    ({ facts: { attempts = [] } }) => attempts.filter((each) => each.outcome === 'unknown').length,
  ],
  [{ en: 'no sale s', zh: '停卖 s' }, ({ seen }) => (withoutSalesMs(seen) / 1_000).toFixed(1)],
  [{ en: 'calm p50 ms', zh: '平静时 p50 ms' }, ({ seen }) => calmLatencies(seen).p50.toFixed(1)],
];

const calmLatencies = ({ tries, calmFrom, brokenAt }: Timeline) =>
  percentiles(sentBetween(tries, calmFrom, brokenAt).map(({ latencyMs }) => latencyMs));

const survivalTable = (survived: readonly Survival[]): Table => ({
  title: { en: 'What accepted orders survive', zh: '已受理的订单扛得住什么' },
  legend: {
    lost: { en: 'of the accepted: MySQL never had them', zh: '接受的订单中，MySQL 从来没有的' },
    'no sale s': { en: 'the longest time without a sale', zh: '最长多久没有成交' },
  },
  ...inColumns(survived, survivalColumns),
});
