/**
 * The database is away, read-only or full while `lua-stream` sells: sales go on, the orders wait,
 * and all of them are recorded afterwards. An outage is no fault of an order, so none is
 * dead-lettered; nor of a worker, so none is replaced. When the orders that wait fill Redis,
 * nothing more is sold; once MySQL is back, the workers free it, and sales go on by themselves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { findRecorded } from '../../service/orders/record-orders.ts';
import { isInTime } from '../environment/wait-until.ts';
import { fullDatabase, readOnlyDatabase } from '../faults/database.ts';
import type { Fault } from '../faults/fault.ts';
import { stopServer } from '../faults/process.ts';
import { limitMemory } from '../faults/redis.ts';
import type { Bilingual, Judged } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import {
  type DatabaseOutage,
  databaseOutagePhases,
  databaseOutageReasons,
  outageFigures,
} from './database-outage-figures.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { endedProcesses } from './ended-processes.ts';
import { phaseTable } from './phases.ts';
import { hasSaleSince, isSale, now, sentBetween } from './try-times.ts';

const rung = 'lua-stream';
const perSecond = 40;
const calmMs = 1_000;
const outageMsMax = 30_000;
const recordedWithinMs = 30_000;

/** Orders are claimed often, so that even a short outage makes more than five deliveries. */
const claimed = { HISTORY_FOLDER: '', CLAIM_IDLE_MS: '500' };
/** A worker that took itself for stuck would be replaced after six seconds. */
const watched = { ...claimed, PROGRESS_WITHIN_MS: '2000', BATCH_LIMIT_MS: '3000' };

interface Kind {
  readonly faultOf: (database: string) => Fault;
  readonly state: DatabaseOutage['state'];
  readonly leastMs: number;
  readonly settings: Readonly<Record<string, string>>;
  /** From before the outage until all is recorded and sold again. */
  readonly around?: Fault;
}
const short = { leastMs: 5_000, settings: claimed };

const outageOf = (about: Bilingual, kind: Kind): Drill => ({
  about,
  play: (stage, options) => playOutage(stage, kind, options),
});

export const mysqlAway = outageOf(
  {
    en: 'MySQL is stopped while lua-stream sells: sales go on, and all is recorded afterwards',
    zh: 'lua-stream 销售时 MySQL 停止：销售继续，之后全部入库',
  },
  { faultOf: stopServer, state: 'unanswered', ...short },
);

export const mysqlReadOnly = outageOf(
  {
    en: 'MySQL is read-only while lua-stream sells: orders wait, /readyz says so, none is lost',
    zh: 'lua-stream 销售时 MySQL 只读：订单等待，/readyz 会说明，一个也不丢',
  },
  { faultOf: readOnlyDatabase, state: 'readOnly', ...short },
);

export const mysqlFull = outageOf(
  {
    en: 'MySQL has no space for an order while lua-stream sells: orders wait, none is lost',
    zh: 'lua-stream 销售时 MySQL 没有空间写订单：订单等待，一个也不丢',
  },
  { faultOf: fullDatabase, state: 'behind', leastMs: 10_000, settings: watched },
);

/** Three or four hundred orders need it. */
const moreBytes = 100_000;

export const redisFull = outageOf(
  {
    en: 'MySQL is stopped until the orders that wait fill Redis: it drains by itself afterwards',
    zh: 'MySQL 停到等待的订单占满 Redis：恢复后自动排空，一个也不丢',
  },
  {
    ...{ faultOf: stopServer, state: 'unanswered', leastMs: 15_000, settings: claimed },
    around: limitMemory('redis-main', moreBytes),
  },
);

async function playOutage(
  stage: Stage,
  { faultOf, state, leastMs, settings, around }: Kind,
  { minutes, seed }: DrillOptions,
): Promise<Judged> {
  const { lab } = stage;
  await stage.serve({ instances: 2, balancer: 'nginx', settings });
  const fault = faultOf(lab.database);
  const endedBefore = endedProcesses(lab).length;
  const forMs = Math.min(outageMsMax, Math.max(leastMs, minutes * 60_000));
  const users = ((forMs + 2 * recordedWithinMs) / 1_000) * perSecond;
  const voucherId = await stage.putOnSale({ title: fault.name, stock: users, rung });
  const load = { name: rung, perSecond, purchases: planPurchases(voucherId, users, seed) };
  const plan = { fault, forMs, ...(around && { around }) };
  const broken = await stage.during(load, (tries) => breakDatabase(stage, plan, tries));
  const replaced = endedProcesses(lab).length - endedBefore;
  const facts = await stage.facts(voucherId);
  const [audited] = auditAll([facts]);
  if (!audited) throw new RangeError('one sale has one audit');
  const { tries } = stage;
  const fillsRedis = around !== undefined;
  const { name } = fault;
  const outage = { name, state, fillsRedis, ...broken, tries, replaced, facts };
  return {
    ...databaseOutageReasons(outage, audited),
    figures: outageFigures(outage),
    tables: [phaseTable(databaseOutagePhases(rung, outage))],
    facts: factsNotHeld([audited]),
  };
}

interface Plan extends Pick<Kind, 'around'> {
  readonly fault: Fault;
  readonly forMs: number;
}

async function breakDatabase(stage: Stage, { fault, forMs, around }: Plan, tries: readonly Try[]) {
  await stage.until('a sale', recordedWithinMs, () => tries.some(isSale));
  const calmFrom = now();
  await stage.rest(calmMs);
  const endAround = around && (await stage.inject(around));
  const brokenAt = now();
  const undo = await stage.inject(fault);
  const look = lookAt(stage);
  const mendedAt = await stage.rest(forMs).then(undo).then(now).finally(look.end);
  const { waitingMost, readiness } = look;
  const recordedAt = await whenRecorded(stage, sentBetween(tries, brokenAt, mendedAt));
  await isInTime(stage.until('a sale', recordedWithinMs, () => hasSaleSince(tries, mendedAt)));
  await stage.rest(calmMs);
  await endAround?.();
  return { calmFrom, brokenAt, mendedAt, recordedAt, until: now(), waitingMost, readiness };
}

/** Until `end`: how many orders wait, and what /readyz of an instance says. */
function lookAt({ lab, connections }: Stage) {
  const over = new AbortController();
  const url = `http://127.0.0.1:${lab.portOf('api-1')}/readyz`;
  const redis = connections.redis('admin');
  const [shard] = connections.saleKeys.shards;
  let waitingMost = 0;
  const readiness: string[] = [];
  const looking = (async () => {
    while (!over.signal.aborted) {
      const waiting = shard ? await redis.hlen(shard.queued).catch(() => 0) : 0;
      waitingMost = Math.max(waitingMost, waiting);
      readiness.push(await fetch(url).then((answer) => answer.text(), String));
      await sleep(200, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  return {
    readiness,
    get waitingMost() {
      return waitingMost;
    },
    end: async () => {
      over.abort();
      await looking;
    },
  };
}

/** When MySQL has every order that was accepted meanwhile; null when that takes too long. */
async function whenRecorded(stage: Stage, tries: readonly Try[]): Promise<bigint | null> {
  const orders = tries.filter(isSale).map(({ orderId: id = '', ...intent }) => ({ ...intent, id }));
  const areRecorded = async () =>
    (await findRecorded(stage.connections.mysql(), orders)).size === orders.length;
  const recorded = stage.until('the orders to be recorded', recordedWithinMs, areRecorded, 100);
  return (await isInTime(recorded)) ? now() : null;
}
