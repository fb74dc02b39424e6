/**
 * The final rung for as long as you like: a rush without end through nginx, and one fault after the
 * other, each while requests stand at the checkpoints that it is about. Then everything is healed,
 * drained and audited.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Facts } from '../../audit/facts.ts';
import type { Connections } from '../../connections/connections.ts';
import { countBy, groupBy } from '../../grouping.ts';
import { type Audited, auditAll, factsNotHeld, findingsOf } from '../drills/audited.ts';
import type { DrillOptions, DrillResult } from '../drills/drill.ts';
import { buyRecorded } from '../drills/recorded.ts';
import { stormFigures } from '../drills/storm-figures.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { allDrained } from '../workload/drained.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { declaredCells, targets } from './cells.ts';
import { type Coverage, coverageOf } from './coverage.ts';
import { type PlayedFault, playFault, type Scene } from './play-fault.ts';
import { openProbes } from './probes.ts';
import { claimIdleMs } from './soak-faults.ts';
import { soakReasons } from './soak-reasons.ts';
import { SoakSale } from './soak-sale.ts';
import { Steering } from './steering.ts';

const soakRung = 'lua-stream';
const purchasesPerSecond = 200;
const resolveWithinMs = 60_000;

/** Two workers, so that one can claim what the other left. */
export const soakShape: ServiceShape = {
  instances: 4,
  balancer: 'nginx',
  network: 'proxied',
  settings: { ORDER_WORKERS: '2', CLAIM_IDLE_MS: String(claimIdleMs) },
};

export interface SoakOptions extends DrillOptions {
  /** Every declared cell must be seen, and the curve of new cells must be flat. */
  readonly isGated: boolean;
}

export interface SoakResult extends DrillResult {
  readonly coverage: Coverage;
  readonly played: readonly PlayedFault[];
}

export async function soak(lab: Lab, options: SoakOptions): Promise<SoakResult> {
  await lab.ensure(soakShape);
  return withConnections(lab, async (connections) => {
    const sale = new SoakSale(options.seed, (stock) => putOnSaleAt(lab, options.seed, stock));
    await sale.offerPlenty();
    const { tries, played } = await rushUnderFaults(lab, connections, sale, options);
    return judge(sale, tries, await collect(connections, tries), played, options);
  });
}

const putOnSaleAt = (lab: Lab, seed: number, stock: number): Promise<string> =>
  putOnSale(lab.baseUrl, lab.tokenSecret, lab.shape.instances, {
    title: `soak, seed ${seed}`,
    stock,
    rung: soakRung,
  });

interface Rushed {
  readonly tries: readonly Try[];
  readonly played: readonly PlayedFault[];
}

/** The lab is healed before the last purchases end. */
async function rushUnderFaults(
  lab: Lab,
  connections: Connections,
  sale: SoakSale,
  options: SoakOptions,
): Promise<Rushed> {
  const { signal, recorder } = options;
  const giveUp = new AbortController();
  const tokenSecret = lab.tokenSecret;
  const load = { baseUrl: lab.baseUrl, tokenSecret, purchasesPerSecond, giveUp: giveUp.signal };
  const probes = openProbes(sale, tokenSecret, recorder);
  const buying = buyRecorded(soakRung, sale, load, recorder);
  buying.catch(() => {}); // It is awaited below.
  try {
    const scene = { lab, connections, sale, probes, recorder };
    const played = await playFaults(scene, options);
    await lab.heal();
    signal.throwIfAborted();
    sale.end();
    const late = setTimeout(() => giveUp.abort(), resolveWithinMs);
    const tries = await buying.finally(() => clearTimeout(late));
    return { tries: [...tries, ...probes.tries], played };
  } finally {
    sale.end();
    giveUp.abort();
    await Promise.allSettled([buying, probes.close()]);
  }
}

async function playFaults(
  scene: Scene,
  { seed, minutes, signal, progress }: SoakOptions,
): Promise<PlayedFault[]> {
  const over = AbortSignal.timeout(minutes * 60_000);
  const until = AbortSignal.any([signal, over]);
  const steering = new Steering(targets, seed);
  const seen = new Set<string>();
  const played: PlayedFault[] = [];
  while (!until.aborted) {
    const planned = steering.next();
    const fault = await playFault(scene, planned);
    steering.saw(fault.cells);
    for (const cell of fault.cells) seen.add(cell);
    played.push(fault);
    const cells = `${seen.size} of ${declaredCells.length} cells`;
    progress(`${played.length}. ${cells}: ${fault.text}`);
    forgetHistory(scene.lab);
    await sleep(planned.restMs, undefined, { signal: until }).catch(() => {});
  }
  return played;
}

/** The history is for the checkpoints only. In an hour it would fill the disk. */
function forgetHistory({ historyFolder }: Lab): void {
  for (const file of readdirSync(historyFolder)) rmSync(join(historyFolder, file), { force: true });
}

async function collect(connections: Connections, tries: readonly Try[]): Promise<Facts[]> {
  const attempts = groupBy(tries, ({ voucherId }) => voucherId);
  await connections.ready();
  const facts = await allDrained(connections, [...attempts.keys()]);
  return facts.map((each) => ({ ...each, attempts: attempts.get(each.voucherId) ?? [] }));
}

function judge(
  { purchases }: SoakSale,
  tries: readonly Try[],
  facts: readonly Facts[],
  played: readonly PlayedFault[],
  { isGated }: SoakOptions,
): SoakResult {
  const figures = stormFigures(purchases, tries, facts);
  const audits = auditAll(facts);
  const coverage = coverageOf(
    declaredCells,
    played.map(({ cells }) => cells),
  );
  return {
    ...soakReasons(figures, audits, coverage, isGated),
    figures: {
      ...{ vouchers: facts.length, faults: played.length, violations: violationsIn(audits) },
      ...figures,
    },
    faults: countBy(played.flatMap(({ injected }) => injected)),
    facts: factsNotHeld(audits),
    coverage,
    played,
  };
}

/** All that the audits found. */
const violationsIn = (audits: readonly Audited[]): number =>
  audits.flatMap(findingsOf).reduce((sum, { finding }) => sum + finding.count, 0);
