/**
 * Alive but not consuming: the incidents after which a service runs, and records nothing.
 * `lua-stream` sells through nginx, and one incident comes after the other. Measured is the time
 * until MySQL has an order again that was sold after the incident.
 */
import type { Facts } from '../../service/audit/facts.ts';
import { findRecorded } from '../../service/orders/record-orders.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { isInTime } from '../environment/wait-until.ts';
import { hangingWorkers } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { endedProcesses } from './ended-processes.ts';
import {
  type AllSeen,
  incidentFigures,
  incidentPhase,
  incidentReasons,
  playInOrder,
  type Seen,
} from './incident-figures.ts';
import { type Incident, type IncidentScene, incidentsOf, progressWithinMs } from './incidents.ts';
import { phaseTable } from './phases.ts';
import { askReadiness, type Readiness } from './readiness.ts';
import { now, salesSince } from './try-times.ts';

const rung = 'lua-stream';
const perSecond = 40;
/** Longer than any limit, so that the verdict says how late it was. */
const waitForOrderMs = 20_000;
const calmMs = 500;
const outageMs = { short: 5_000, long: 45_000 } as const;

const shapeOf = (network: Network): ServiceShape => ({
  ...{ instances: 2, balancer: 'nginx', network },
  settings: {
    HISTORY_FOLDER: '',
    PROGRESS_WITHIN_MS: String(progressWithinMs),
    CLAIM_IDLE_MS: String(progressWithinMs / 2),
    ...hangingWorkers,
  },
});

interface Part extends AllSeen {
  readonly facts: Facts;
}

export const aliveNotConsuming: Drill = {
  about: {
    en: 'masters frozen and killed, no Redis, a silent network, no consumer group, a hung worker',
    zh: '主节点冻结或被杀、没有 Redis、网络沉默、没有消费组、消费者挂起',
  },
  async play(stage, options) {
    const parts: Part[] = [];
    for (const network of ['sentinel', 'proxied'] as const) {
      await stage.serve(shapeOf(network));
      parts.push(await playPart(stage, network, options).finally(() => stage.lab.heal()));
    }
    const seen = parts.flatMap((part) => part.seen);
    const unfinished = parts.flatMap((part) => part.unfinished);
    const audits = auditAll(parts.map(({ facts }) => facts));
    return {
      ...incidentReasons({ seen, unfinished }, audits),
      figures: incidentFigures(seen),
      tables: [phaseTable(seen.map((each) => incidentPhase(rung, each)))],
      facts: factsNotHeld(audits),
    };
  },
};

/** Steady purchases of one voucher through all incidents of a network. */
async function playPart(
  stage: Stage,
  network: Network,
  { minutes, seed }: DrillOptions,
): Promise<Part> {
  const noRedisMs = minutes < 1 ? outageMs.short : outageMs.long;
  const incidents = incidentsOf(network, noRedisMs);
  const users = ((noRedisMs + incidents.length * 2 * waitForOrderMs) / 1_000) * perSecond;
  const title = `alive-not-consuming, ${network}`;
  const voucherId = await stage.putOnSale({ title, stock: users, rung });
  const load = { name: rung, perSecond, purchases: planPurchases(voucherId, users, seed) };
  const over = new AbortController();
  const readiness = askReadiness(stage.lab, over.signal);
  try {
    const played = await stage.during(load, (tries) =>
      playInOrder(incidents, (incident) => playOne(stage, incident, tries, readiness.answers)),
    );
    await stage.lab.heal();
    return { ...played, facts: await stage.facts(voucherId) };
  } finally {
    over.abort();
    await readiness.ended;
  }
}

async function playOne(
  stage: Stage,
  incident: Incident,
  tries: readonly Try[],
  readiness: readonly Readiness[],
): Promise<Seen> {
  const { lab, connections } = stage;
  const soldSince = (since: bigint) => salesSince(tries, since).length;
  const [shard] = connections.saleKeys.shards;
  const waiting = () => connections.redis('admin').hlen(shard?.queued ?? '');
  const scene: IncidentScene = { stage, soldSince, waiting };
  const endedBefore = endedProcesses(lab).length;
  const calmFrom = now();
  await stage.until('a sale', waitForOrderMs, () => soldSince(calmFrom) > 0);
  await stage.rest(calmMs);
  const brokenAt = now();
  const { mendedAt, after = async () => {} } = await incident.play(scene);
  const recordedAt = await firstRecorded(stage, tries, mendedAt);
  await after();
  await stage.rest(calmMs);
  await untilReady(stage, readiness);
  const until = now();
  return {
    ...{ incident, calmFrom, brokenAt, mendedAt, recordedAt, until },
    tries: [...tries],
    readiness: readiness.filter(({ at }) => at >= brokenAt && at < until),
    exitCodes: endedProcesses(lab).slice(endedBefore),
  };
}

/** The last answer; the verdict says when it is not ready in time. */
async function untilReady(stage: Stage, readiness: readonly Readiness[]): Promise<void> {
  const isReady = () => readiness.at(-1)?.isReady === true;
  await isInTime(stage.until('the service to be ready', waitForOrderMs, isReady));
}

/** When MySQL has an order that was sent after this moment; null when it gets none in time. */
async function firstRecorded(
  stage: Stage,
  tries: readonly Try[],
  since: bigint,
): Promise<bigint | null> {
  const isRecorded = async () => {
    const sales = salesSince(tries, since).slice(0, perSecond);
    const orders = sales.map(({ orderId: id = '', ...sale }) => ({ ...sale, id }));
    return (await findRecorded(stage.connections.mysql(), orders)).size > 0;
  };
  const recorded = stage.until('an order to be recorded', waitForOrderMs, isRecorded);
  return (await isInTime(recorded)) ? now() : null;
}
