/**
 * What an accepted order survives. `lua-stream` sells, every order still waits in Redis, and that
 * Redis is killed, loses power, or dies and is replaced by its replica: for each ORDER_DURABILITY.
 * What is lost is what the audit finds: orders whose buyer was told 202, and that MySQL never had.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Durability, durabilities } from '../../config.ts';
import { DeadlinePassed } from '../../errors.ts';
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
import { countBy } from './run-rung.ts';
import { duringSale } from './steady-sale.ts';
import { type Loss, losses } from './survival.ts';
import { answeredAt, hasSaleSince, isSale, now } from './try-times.ts';

const rung = 'lua-stream';
const purchasesPerSecond = 100;
const users = 60 * purchasesPerSecond;
const calmMs = 500;
const waitMs = 30_000;
/** Accepted orders, or answers, at least, that only the Redis of now has. */
const atRisk = 10;

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
  const brokenAt = now();
  try {
    await play[cell.loss](stage);
    const mendedAt = now();
    isOver = await isLate(waitUntil('a sale', waitMs, () => hasSaleSince(tries, mendedAt)));
    await rest(calmMs);
  } finally {
    await backToWork();
  }
  return { calmFrom, brokenAt, until: now(), isOver };
}

const play: Readonly<Record<Loss, (stage: Stage) => Promise<void>>> = {
  kill: async ({ inject, tries }) => {
    const fromNs = now();
    await waitUntil('sales', waitMs, () => salesSince(tries, fromNs) >= atRisk);
    await (await inject(restartServer('redis-main')))();
  },
  'power-loss': async ({ inject, tries }) => {
    const isWritten = (sinceMs: number) =>
      salesSince(tries, now() - BigInt(Math.ceil((performance.now() - sinceMs) * 1e6))) >= atRisk;
    await (await inject(cutPower('redis-main', isWritten)))();
  },
  promotion: losesMaster,
};

/** The replica has not heard of the last orders when it is promoted. */
async function losesMaster({ lab, cell, tries, inject }: Stage): Promise<void> {
  const network = lab.network('sentinel');
  const joinAgain = await inject(cutReplica('redis-replica', 'redis-main'));
  const cutAt = now();
  // With `replica` no order is accepted any more: then answers show that they were asked for.
  const count = cell.durability === 'replica' ? answersSince : salesSince;
  await waitUntil('orders without a replica', waitMs, () => count(tries, cutAt) >= atRisk);
  const restart = await inject(killServer('redis-main'));
  await joinAgain();
  await waitUntil('the promotion', waitMs, () => network.isMaster('redis-replica'));
  await restart();
  await follow(lab.portOf('redis-main'), lab.portOf('redis-replica'));
}

const answersSince = (tries: readonly Try[], since: bigint): number =>
  tries.filter((each) => answeredAt(each) >= since).length;

/** Sent and accepted since then. */
const salesSince = (tries: readonly Try[], since: bigint): number =>
  tries.filter((each) => isSale(each) && BigInt(each.sentAt ?? 0) >= since).length;

async function isLate(waiting: Promise<void>): Promise<boolean> {
  try {
    await waiting;
    return false;
  } catch (error) {
    if (error instanceof DeadlinePassed) return true;
    throw error;
  }
}
