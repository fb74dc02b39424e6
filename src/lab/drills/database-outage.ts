/**
 * The database is away, read-only or full while `lua-stream` sells: sales go on, the orders wait,
 * and all of them are recorded afterwards. An outage is no fault of an order, so none is
 * dead-lettered; nor of a worker, so none is replaced.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connections } from '../../connections/connections.ts';
import { DeadlinePassed } from '../../errors.ts';
import { findRecorded } from '../../orders/record-orders.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Fault } from '../faults/fault.ts';
import { fullDatabase } from '../faults/full-database.ts';
import { readOnlyDatabase } from '../faults/read-only-database.ts';
import { stopServer } from '../faults/stop-server.ts';
import { drained } from '../workload/drained.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import {
  type DatabaseOutage,
  databaseOutagePhases,
  databaseOutageReasons,
  outageFigures,
} from './database-outage-figures.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { endedProcesses } from './ended-processes.ts';
import { inject } from './recorded.ts';
import { duringSale } from './steady-sale.ts';
import { isSale, now, sentBetween } from './try-times.ts';

const rung = 'lua-stream';
const purchasesPerSecond = 40;
const calmMs = 1_000;
const mostOutageMs = 30_000;
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
}
const short = { leastMs: 5_000, settings: claimed };

const outageOf = (about: string, kind: Kind): Drill => ({
  about,
  run: (lab, options) => playOutage(lab, kind, options),
});

export const mysqlAway = outageOf(
  'MySQL is stopped while lua-stream sells: sales go on, and all is recorded afterwards',
  { faultOf: stopServer, state: 'unanswered', ...short },
);

export const mysqlReadOnly = outageOf(
  'MySQL is read-only while lua-stream sells: orders wait, /readyz says so, none is lost',
  { faultOf: readOnlyDatabase, state: 'readOnly', ...short },
);

export const mysqlFull = outageOf(
  'MySQL has no space for an order while lua-stream sells: orders wait, none is lost',
  { faultOf: fullDatabase, state: 'behind', leastMs: 10_000, settings: watched },
);

async function playOutage(
  lab: Lab,
  { faultOf, state, leastMs, settings }: Kind,
  options: DrillOptions,
): Promise<DrillResult> {
  await lab.ensure({ instances: 2, balancer: 'nginx', settings });
  const fault = faultOf(lab.database);
  const endedBefore = endedProcesses(lab).length;
  const forMs = Math.min(mostOutageMs, Math.max(leastMs, options.minutes * 60_000));
  const users = ((forMs + 2 * recordedWithinMs) / 1_000) * purchasesPerSecond;
  const sale = { rung, title: fault.name, purchasesPerSecond, users };
  const { tries, result, voucherId } = await duringSale(lab, sale, options, (tries) =>
    withConnections(lab, (connections) =>
      breakDatabase({ lab, fault, forMs, options, connections, tries }),
    ),
  );
  const replaced = endedProcesses(lab).length - endedBefore;
  const facts = await withConnections(lab, (connections) => drained(connections, voucherId));
  const [audited] = auditAll([{ ...facts, attempts: tries }]);
  if (!audited) throw new RangeError('one sale has one audit');
  const outage: DatabaseOutage = { name: fault.name, state, ...result, tries, replaced, facts };
  return {
    ...databaseOutageReasons(outage, audited),
    figures: outageFigures(outage),
    phases: databaseOutagePhases(rung, outage),
    faults: { [fault.name]: 1 },
    facts: factsNotHeld([audited]),
  };
}

interface Play {
  readonly lab: Lab;
  readonly fault: Fault;
  readonly forMs: number;
  readonly options: DrillOptions;
  readonly connections: Connections;
  readonly tries: readonly Try[];
}

async function breakDatabase({ lab, fault, forMs, options, connections, tries }: Play) {
  const { signal, recorder } = options;
  const rest = (ms: number) => sleep(ms, undefined, { signal });
  await waitUntil('a sale', recordedWithinMs, () => tries.some(isSale));
  const calmFrom = now();
  await rest(calmMs);
  const brokenAt = now();
  const undo = await inject(lab, fault, recorder);
  const look = lookAt(lab, connections);
  const mendedAt = await rest(forMs).finally(undo).then(now).finally(look.end);
  const { waitingMost, readiness } = look;
  const recordedAt = await whenRecorded(connections, sentBetween(tries, brokenAt, mendedAt));
  await rest(calmMs);
  return { calmFrom, brokenAt, mendedAt, recordedAt, until: now(), waitingMost, readiness };
}

/** Until `end`: how many orders wait, and what /readyz of an instance says. */
function lookAt(lab: Lab, connections: Connections) {
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
async function whenRecorded(
  connections: Connections,
  tries: readonly Try[],
): Promise<bigint | null> {
  const orders = tries.filter(isSale).map(({ orderId: id = '', ...intent }) => ({ ...intent, id }));
  const areRecorded = async () =>
    (await findRecorded(connections.mysql(), orders)).size === orders.length;
  try {
    await waitUntil('the orders to be recorded', recordedWithinMs, areRecorded, 100);
    return now();
  } catch (error) {
    if (error instanceof DeadlinePassed) return null;
    throw error;
  }
}
