/**
 * One, two and three of the three independent masters stopped under steady load, and started again:
 * on the rungs that need all of them, a majority, and one other Redis.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Facts } from '../../audit/facts.ts';
import type { Finding } from '../../audit/finding.ts';
import { readHistory } from '../../audit/read-history.ts';
import type { RungName } from '../../ladder/rungs.ts';
import { defaultShape, type Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { stopServer } from '../faults/stop-server.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { buySteadily, planPurchases, type Try } from '../workload/steady-purchases.ts';
import { warmUp } from '../workload/warm-up.ts';
import { auditAll, factsNotHeld } from './audited.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { judgedFindings, type Outage, outageReasons, phasesOf } from './outages.ts';
import { countBy } from './run-rung.ts';

interface Target {
  readonly rung: RungName;
  /** Its lock servers, and how many of them it claims to need for a sale. */
  readonly masters: readonly string[];
  readonly needed: number;
}

const independent = ['redis-1', 'redis-2', 'redis-3'];
const targets: readonly Target[] = [
  { rung: 'multilock', masters: independent, needed: 3 },
  { rung: 'redlock', masters: independent, needed: 2 },
  { rung: 'redis-atomic', masters: ['redis-main'], needed: 1 },
];
/** A rung with n masters has n outages, and 2 n + 1 parts: before, then during and after each. */
const parts = targets.reduce((sum, { masters }) => sum + 2 * masters.length + 1, 0);

const purchasesPerSecond = 40;
/** Servers need time to stop and start, beside the parts. */
const spareSeconds = 60;
/** Longer than the claim, so that the verdict says how late they were. */
const waitForSaleMs = 10_000;

export const stopMasters: Drill = {
  about: '1, 2 and 3 lock servers stopped and started while multilock, redlock, redis-atomic sell',
  async run(lab, options) {
    await lab.ensure(defaultShape);
    const outages: Outage[] = [];
    const facts: Facts[] = [];
    for (const target of targets) {
      const sale = await sellThrough(lab, target, options);
      outages.push(...sale.outages);
      facts.push(sale.facts);
    }
    return judge(outages, facts);
  },
};

/** Steady purchases of one voucher through all outages of its rung. */
async function sellThrough(lab: Lab, target: Target, options: DrillOptions) {
  const partMs = (options.minutes * 60_000) / parts;
  const tokenSecret = lab.environment['TOKEN_SECRET'] ?? '';
  const seconds = (partMs / 1_000) * (2 * target.masters.length + 1) + spareSeconds;
  const users = Math.ceil(seconds * purchasesPerSecond);
  const title = `stop-masters, seed ${options.seed}`;
  const sale = { title, stock: users, rung: target.rung };
  await warm(lab, target.rung, options);
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
  const giveUp = new AbortController();
  const tries: Try[] = [];
  const buying = buySteadily(planPurchases(voucherId, users, options.seed), {
    ...{ baseUrl: lab.baseUrl, tokenSecret, purchasesPerSecond, giveUp: giveUp.signal },
    onTry: (attempt) => void tries.push(attempt),
  });
  try {
    const outages = await playOutages(lab, target, tries, partMs, options);
    giveUp.abort();
    await buying;
    return { outages, facts: await collect(lab, voucherId, tries) };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying]);
  }
}

async function warm(lab: Lab, rung: RungName, { seed }: DrillOptions): Promise<void> {
  const { instances } = lab.shape;
  const request = { rung, instances, seed, baseUrl: lab.baseUrl, requestsPerEagerUser: 1 };
  await withConnections(lab, (connections) => warmUp(request, connections));
}

async function playOutages(
  lab: Lab,
  { rung, masters, needed }: Target,
  tries: readonly Try[],
  partMs: number,
  { seed, signal, progress }: DrillOptions,
): Promise<Outage[]> {
  const outages: Outage[] = [];
  const rest = () => sleep(partMs, undefined, { signal });
  await sold(tries, now());
  let calmFrom = now();
  await rest();
  for (let count = 1; count <= masters.length; count++) {
    const first = seed % masters.length;
    const stopped = [...masters.slice(first), ...masters.slice(0, first)].slice(0, count);
    progress(`${rung}: stop ${stopped.join(', ')}`);
    const times = await outage(lab, stopped, rest);
    await sold(tries, times.backAt).catch(() => {}); // Then the verdict says so.
    const resumedAt = now();
    await rest();
    const until = now();
    const sells = masters.length - count >= needed;
    const claim = { rung, stopped, masters: masters.length, sells };
    outages.push({ ...claim, calmFrom, ...times, until, tries });
    calmFrom = resumedAt;
  }
  return outages;
}

/** The servers run again afterwards, also when the drill is interrupted. */
async function outage(lab: Lab, names: readonly string[], rest: () => Promise<void>) {
  const stopAt = now();
  const undos = await Promise.all(names.map((name) => stopServer(name).inject(lab)));
  const downAt = now();
  let startAt = downAt;
  try {
    await rest();
  } finally {
    startAt = now();
    await Promise.all(undos.map((undo) => undo()));
  }
  return { stopAt, downAt, startAt, backAt: now() };
}

const now = () => process.hrtime.bigint();

const sold = (tries: readonly Try[], since: bigint): Promise<void> =>
  waitUntil('a sale', waitForSaleMs, () =>
    tries.some(({ outcome, sentAt = '0' }) => outcome === 'accepted' && BigInt(sentAt) >= since),
  );

async function collect(lab: Lab, voucherId: string, attempts: readonly Try[]): Promise<Facts> {
  const facts = await withConnections(lab, (connections) => drained(connections, voucherId));
  return { ...facts, attempts, ...readHistory(lab.historyFolder, voucherId) };
}

function judge(outages: readonly Outage[], facts: readonly Facts[]): DrillResult {
  const audits = auditAll(facts);
  const findings = audits.flatMap(judgedFindings);
  const { verdict, reasons } = outageReasons(outages, findings);
  const phases = outages.flatMap(phasesOf);
  const count = (wanted: readonly Pick<Finding, 'count'>[]) =>
    wanted.reduce((sum, each) => sum + each.count, 0);
  const violated = audits.flatMap((each) => each.audit.findings).filter(isViolated);
  const figures = {
    attempts: facts.reduce((sum, { attempts = [] }) => sum + attempts.length, 0),
    violations: count(findings.map(({ finding }) => finding).filter(isViolated)),
    busyUntilLeaseEnds: count(violated.filter(({ check }) => check === 'progress')),
    latestResumptionMs: Math.max(0, ...phases.map(({ resumedAfterMs }) => resumedAfterMs ?? 0)),
  };
  const stopped = outages.flatMap((outage) => outage.stopped);
  const faults = countBy(stopped.map((name) => stopServer(name).name));
  return { verdict, reasons, figures, phases, faults, facts: factsNotHeld(audits) };
}

const isViolated = ({ verdict }: Finding): boolean => verdict === 'violated';
