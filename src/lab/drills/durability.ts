/**
 * What an accepted order survives. `lua-stream` sells, every order still waits in Redis, and that
 * Redis is killed, loses power, or dies and is replaced by its replica: for each ORDER_DURABILITY.
 * What is lost is what the audit finds: orders whose buyer was told 202, and that MySQL never had.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Durability, durabilities } from '../../config.ts';
import { DeadlinePassed } from '../../errors.ts';
import { countBy } from '../../grouping.ts';
import type { Lab } from '../environment/lab.ts';
import { follow } from '../environment/replication.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { cutPower } from '../faults/cut-power.ts';
import { cutReplica } from '../faults/cut-replica.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import { killServer } from '../faults/kill-server.ts';
import { restartServer } from '../faults/restart-server.ts';
import { stopWorkers } from '../faults/stop-workers.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { collectSale } from './around-load.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { durabilityReasons, type Endured, survivalOf } from './durability-verdict.ts';
import { inject } from './recorded.ts';
import { duringSale } from './steady-sale.ts';
import { type Loss, losses } from './survival.ts';
import { hasSaleSince, isSale, now, sentAt } from './try-times.ts';

const rung = 'lua-stream';
const purchasesPerSecond = 100;
const users = 60 * purchasesPerSecond;
const calmMs = 500;
const waitMs = 30_000;
/** Orders, at least, that only the Redis of now has, before it dies. */
const leastAtRisk = 10;

export interface DurabilityCell {
  readonly durability: Durability;
  readonly loss: Loss;
}

const cells: readonly DurabilityCell[] = durabilities.flatMap((durability) =>
  losses.map((loss) => ({ durability, loss })),
);

export const durability: Drill = {
  about: 'Redis killed, without power, or replaced: the accepted orders that each durability loses',
  run: (lab, options) => endureAll(lab, cells, options),
};

export async function endureAll(
  lab: Lab,
  chosen: readonly DurabilityCell[],
  options: DrillOptions,
): Promise<DrillResult> {
  const endured: Endured[] = [];
  const faults: string[] = [];
  for (const cell of chosen) {
    options.signal.throwIfAborted();
    await lab.ensure(shapeOf(cell));
    endured.push(await endure(lab, cell, options, faults).finally(() => lab.heal()));
  }
  const audits = auditAll(endured.map(({ facts }) => facts));
  const survived = endured.map(survivalOf);
  return {
    ...durabilityReasons(endured, audits),
    figures: { cells: survived.length },
    survived,
    faults: countBy(faults),
    facts: factsNotHeld(audits),
  };
}

/** Both have a replica: Sentinels would promote it after a mere restart, too. */
const networkOf = (loss: Loss): Network => (loss === 'promotion' ? 'sentinel' : 'proxied');

const shapeOf = ({ durability, loss }: DurabilityCell): ServiceShape => ({
  ...{ instances: 2, balancer: 'nginx', network: networkOf(loss) },
  settings: { ORDER_DURABILITY: durability },
});

interface Stage {
  readonly lab: Lab;
  readonly cell: DurabilityCell;
  readonly tries: readonly Try[];
  readonly inject: (fault: Fault) => Promise<Undo>;
}

async function endure(
  lab: Lab,
  cell: DurabilityCell,
  options: DrillOptions,
  faults: string[],
): Promise<Endured> {
  const title = `${cell.durability}, ${cell.loss}`;
  // One each: "already ordered" would name an order that was lost, which is the same finding twice.
  const sale = { rung, title, purchasesPerSecond, users, onePurchaseEach: true };
  const { voucherId, tries, result } = await duringSale(lab, sale, options, (tries) => {
    const injected = (fault: Fault) => {
      faults.push(fault.name);
      return inject(lab, fault, options.recorder);
    };
    return lose({ lab, cell, tries, inject: injected }, options.signal);
  });
  return { ...cell, ...result, facts: await collectSale(lab, voucherId, tries) };
}

/** The workers are away meanwhile, so that every accepted order is in Redis only. */
async function lose(stage: Stage, signal: AbortSignal) {
  const { cell, tries, inject: injected } = stage;
  const rest = (ms: number) => sleep(ms, undefined, { signal });
  await waitUntil('a sale', waitMs, () => tries.some(isSale));
  const calmFrom = now();
  await rest(calmMs);
  const backToWork = await injected(stopWorkers);
  let isOver = false;
  let atRisk = 0;
  const brokenAt = now();
  try {
    atRisk = await play[cell.loss](stage);
    const mendedAt = now();
    isOver = await isLate(waitUntil('a sale', waitMs, () => hasSaleSince(tries, mendedAt)));
    await rest(calmMs);
  } finally {
    await backToWork();
  }
  return { calmFrom, brokenAt, until: now(), isOver, atRisk };
}

/** @returns how many accepted orders nobody but the Redis that died can have had. */
const play: Readonly<Record<Loss, (stage: Stage) => Promise<number>>> = {
  kill: async ({ inject, tries }) => {
    const fromNs = now();
    await waitUntil('sales', waitMs, () => salesSince(tries, fromNs) >= leastAtRisk);
    await (await inject(restartServer('redis-main')))();
    return 0; // It has what it had written.
  },
  'power-loss': async ({ inject, tries }) => {
    let atRisk = 0;
    const isWritten = (sinceMs: number) => {
      const since = now() - BigInt(Math.ceil((performance.now() - sinceMs) * 1e6));
      atRisk = salesSince(tries, since);
      return atRisk >= leastAtRisk;
    };
    await (await inject(cutPower('redis-main', isWritten)))();
    return atRisk;
  },
  promotion: losesMaster,
};

/** The replica has not heard of the last orders when it is promoted. */
async function losesMaster({ lab, cell, tries, inject }: Stage): Promise<number> {
  const network = lab.network('sentinel');
  const joinAgain = await inject(cutReplica('redis-replica'));
  const cutAt = now();
  // With `replica` none of these is accepted: that they were sold is unknown to their buyers.
  const count = cell.durability === 'replica' ? soldSince : salesSince;
  await waitUntil('orders without a replica', waitMs, () => count(tries, cutAt) >= leastAtRisk);
  const restart = await inject(killServer('redis-main'));
  const atRisk = salesSince(tries, cutAt);
  await joinAgain();
  await waitUntil('the promotion', waitMs, () => network.isMaster('redis-replica'));
  await restart();
  await follow(lab.portOf('redis-main'), lab.portOf('redis-replica'));
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

async function isLate(waiting: Promise<void>): Promise<boolean> {
  try {
    await waiting;
    return false;
  } catch (error) {
    if (error instanceof DeadlinePassed) return true;
    throw error;
  }
}
