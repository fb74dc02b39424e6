/**
 * What an accepted order survives. `lua-stream` sells, every order still waits in Redis, and that
 * Redis is killed, loses power, or dies and is replaced by its replica: for each ORDER_DURABILITY.
 * What is lost is what the audit finds: orders whose buyer was told 202, and that MySQL never had.
 */
import { type Durability, durabilities } from '../../service/config.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { isInTime } from '../environment/wait-until.ts';
import { restartServer, stopWorkers } from '../faults/process.ts';
import { cutPower } from '../faults/redis.ts';
import type { Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { onePurchaseEach, type Try } from '../workload/steady-purchases.ts';
import { auditAll, keptOf } from './audited.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { durabilityReasons, type Endured, survivalOf } from './durability-verdict.ts';
import { cutPreferred } from './promote-behind.ts';
import { type Loss, losses, survivalTable } from './survival.ts';
import { hasSaleSince, isSale, now, sentAt } from './try-times.ts';

const rung = 'lua-stream';
const perSecond = 100;
const users = 60 * perSecond;
const calmMs = 500;
const waitMs = 30_000;
/** Orders, at least, that only the Redis of now has, before it dies. */
const atRiskMin = 10;

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
  const endured: Endured[] = [];
  for (const cell of chosen) {
    await stage.serve(shapeOf(cell));
    endured.push(await endure(stage, cell, seed).finally(() => stage.lab.heal()));
  }
  const audits = auditAll(endured.map(({ facts }) => facts));
  const survived = endured.map(survivalOf);
  return {
    ...durabilityReasons(endured, audits),
    figures: { cells: survived.length },
    tables: [survivalTable(survived)],
    ...keptOf(audits),
  };
}

/** Both have a replica: Sentinels would promote it after a mere restart, too. */
const networkOf = (loss: Loss): Network => (loss === 'promotion' ? 'sentinel' : 'proxied');

const shapeOf = ({ durability, loss }: DurabilityCell): ServiceShape => ({
  ...{ instances: 2, balancer: 'nginx', network: networkOf(loss) },
  settings: { ORDER_DURABILITY: durability },
});

async function endure(stage: Stage, cell: DurabilityCell, seed: number): Promise<Endured> {
  const title = `${cell.durability}, ${cell.loss}`;
  const voucherId = await stage.putOnSale({ title, stock: users, rung });
  // One each: "already ordered" would name an order that was lost, which is the same finding twice.
  const purchases = onePurchaseEach(voucherId, `survives-${seed}`, users);
  const load = { name: rung, perSecond, purchases };
  const seen = await stage.during(load, (tries) => lose(stage, cell, tries));
  return { ...cell, ...seen, facts: await stage.facts(voucherId) };
}

/** The workers are away meanwhile, so that every accepted order is in Redis only. */
async function lose(stage: Stage, cell: DurabilityCell, tries: readonly Try[]) {
  await stage.until('a sale', waitMs, () => tries.some(isSale));
  const calmFrom = now();
  await stage.rest(calmMs);
  const backToWork = await stage.inject(stopWorkers);
  let isOver = false;
  let atRisk = 0;
  const brokenAt = now();
  try {
    atRisk = await playOf[cell.loss](stage, cell, tries);
    const mendedAt = now();
    isOver = !(await isInTime(stage.until('a sale', waitMs, () => hasSaleSince(tries, mendedAt))));
    await stage.rest(calmMs);
  } finally {
    await backToWork();
  }
  return { calmFrom, brokenAt, until: now(), isOver, atRisk };
}

type LossPlay = (stage: Stage, cell: DurabilityCell, tries: readonly Try[]) => Promise<number>;

/** @returns how many accepted orders nobody but the Redis that died can have had. */
const playOf: Readonly<Record<Loss, LossPlay>> = {
  kill: async (stage, _, tries) => {
    const fromNs = now();
    await stage.until('sales', waitMs, () => salesSince(tries, fromNs) >= atRiskMin);
    await (await stage.inject(restartServer('redis-main')))();
    return 0; // It has what it had written.
  },
  'power-loss': async (stage, _, tries) => {
    let atRisk = 0;
    const isWritten = (sinceMs: number) => {
      const since = now() - BigInt(Math.ceil((performance.now() - sinceMs) * 1e6));
      atRisk = salesSince(tries, since);
      return atRisk >= atRiskMin;
    };
    await (await stage.inject(cutPower('redis-main', isWritten)))();
    return atRisk;
  },
  promotion: losesMaster,
};

/** The replica that is promoted has not heard of the last orders; the other one has. */
async function losesMaster(
  stage: Stage,
  { durability }: DurabilityCell,
  tries: readonly Try[],
): Promise<number> {
  const promote = await cutPreferred(stage);
  const cutAt = now();
  // With `replica` none of these is accepted: that they were sold is unknown to their buyers.
  const count = durability === 'replica' ? soldSince : salesSince;
  await stage.until('orders without a replica', waitMs, () => count(tries, cutAt) >= atRiskMin);
  const atRisk = salesSince(tries, cutAt);
  await promote();
  return atRisk;
}

/** Sent since then, and perhaps sold: Redis has not refused it. */
const soldSince = (tries: readonly Try[], since: bigint): number =>
  sentSince(tries, since).filter(({ outcome }) => outcome !== 'refused').length;

/** Sent and accepted since then. */
const salesSince = (tries: readonly Try[], since: bigint): number =>
  sentSince(tries, since).filter(isSale).length;

const sentSince = (tries: readonly Try[], since: bigint): readonly Try[] =>
  tries.filter((each) => sentAt(each) >= since);
