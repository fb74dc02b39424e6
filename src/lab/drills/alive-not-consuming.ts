/**
 * Alive but not consuming: the incidents after which a service runs, and records nothing.
 * `lua-stream` sells through nginx, and one incident comes after the other. Measured is the time
 * until MySQL has an order again that was sold after the incident.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Facts } from '../../audit/facts.ts';
import type { Connections } from '../../connections/connections.ts';
import { DeadlinePassed } from '../../errors.ts';
import { countBy } from '../../grouping.ts';
import { findRecorded } from '../../orders/record-orders.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { Network, ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { hangingWorkers } from '../faults/hang-worker.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
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
import { type Incident, incidentsOf, progressWithinMs, type Stage } from './incidents.ts';
import { askReadiness, type Readiness } from './readiness.ts';
import { buyRecorded, inject } from './recorded.ts';
import { now } from './try-times.ts';

const rung = 'lua-stream';
const purchasesPerSecond = 40;
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
  readonly faults: readonly string[];
  readonly facts: Facts;
}

export const aliveNotConsuming: Drill = {
  about: 'masters frozen and killed, no Redis, a silent network, no consumer group, a hung worker',
  async run(lab, options) {
    const parts: Part[] = [];
    for (const network of ['sentinel', 'proxied'] as const) {
      await lab.ensure(shapeOf(network));
      parts.push(await sellThrough(lab, network, options).finally(() => lab.heal()));
    }
    const seen = parts.flatMap((part) => part.seen);
    const unfinished = parts.flatMap((part) => part.unfinished);
    const audits = auditAll(parts.map(({ facts }) => facts));
    return {
      ...incidentReasons({ seen, unfinished }, audits),
      figures: incidentFigures(seen),
      phases: seen.map((each) => incidentPhase(rung, each)),
      faults: countBy(parts.flatMap(({ faults }) => faults)),
      facts: factsNotHeld(audits),
    };
  },
};

/** Steady purchases of one voucher through all incidents of a network. */
async function sellThrough(lab: Lab, network: Network, options: DrillOptions): Promise<Part> {
  const noRedisMs = options.minutes < 1 ? outageMs.short : outageMs.long;
  const incidents = incidentsOf(network, noRedisMs);
  const tokenSecret = lab.tokenSecret;
  const users = ((noRedisMs + incidents.length * 2 * waitForOrderMs) / 1_000) * purchasesPerSecond;
  const sale = { title: `alive-not-consuming, ${network}`, stock: users, rung };
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
  const giveUp = new AbortController();
  const tries: Try[] = [];
  const load = {
    ...{ baseUrl: lab.baseUrl, tokenSecret, purchasesPerSecond, giveUp: giveUp.signal },
    onTry: (attempt: Try) => void tries.push(attempt),
  };
  const purchases = planPurchases(voucherId, users, options.seed);
  const buying = buyRecorded(rung, purchases, load, options.recorder);
  const readiness = askReadiness(lab, giveUp.signal);
  try {
    const played = await withConnections(lab, (connections) =>
      playAll(incidents, { lab, options, tries, connections, readiness: readiness.answers }),
    );
    giveUp.abort();
    await buying;
    await lab.heal();
    const facts = await withConnections(lab, (connections) => drained(connections, voucherId));
    return { ...played, facts: { ...facts, attempts: tries } };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying, readiness.ended]);
  }
}

interface Play {
  readonly lab: Lab;
  readonly options: DrillOptions;
  readonly tries: readonly Try[];
  readonly connections: Connections;
  readonly readiness: readonly Readiness[];
}

async function playAll(incidents: readonly Incident[], play: Play): Promise<Omit<Part, 'facts'>> {
  const { lab, options, tries, connections } = play;
  const [shard] = connections.saleKeys.shards;
  const faults: string[] = [];
  const stage: Stage = {
    lab,
    rest: (ms) => sleep(ms, undefined, { signal: options.signal }),
    until: (description, withinMs, condition) =>
      waitUntil(description, withinMs, () => {
        options.signal.throwIfAborted();
        return condition();
      }),
    soldSince: (since) => ordersSince(tries, since).length,
    waiting: () => connections.redis('admin').hlen(shard?.queued ?? ''),
    inject: (fault) => {
      faults.push(fault.name);
      return inject(lab, fault, options.recorder);
    },
  };
  const played = await playInOrder(incidents, (incident) => playOne(incident, stage, play));
  options.signal.throwIfAborted();
  return { ...played, faults };
}

async function playOne(incident: Incident, stage: Stage, play: Play): Promise<Seen> {
  const { lab, tries, readiness } = play;
  const endedBefore = endedProcesses(lab).length;
  const calmFrom = now();
  await stage.until('a sale', waitForOrderMs, () => stage.soldSince(calmFrom) > 0);
  await stage.rest(calmMs);
  const brokenAt = now();
  const { mendedAt, after = async () => {} } = await incident.play(stage);
  const recordedAt = await firstRecorded(stage, play, mendedAt);
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
  await stage.until('the service to be ready', waitForOrderMs, isReady).catch((error) => {
    if (!(error instanceof DeadlinePassed)) throw error;
  });
}

/** When MySQL has an order that was sent after this moment; null when it gets none in time. */
async function firstRecorded(
  stage: Stage,
  { tries, connections }: Play,
  since: bigint,
): Promise<bigint | null> {
  const isRecorded = async () => {
    const orders = ordersSince(tries, since).slice(0, purchasesPerSecond);
    return (await findRecorded(connections.mysql(), orders)).size > 0;
  };
  try {
    await stage.until('an order to be recorded', waitForOrderMs, isRecorded);
    return now();
  } catch (error) {
    if (error instanceof DeadlinePassed) return null;
    throw error;
  }
}

const ordersSince = (tries: readonly Try[], since: bigint) =>
  tries.flatMap(({ orderId, outcome, sentAt = '0', ...intent }) =>
    outcome === 'accepted' && orderId !== undefined && BigInt(sentAt) >= since
      ? [{ ...intent, id: orderId }]
      : [],
  );
