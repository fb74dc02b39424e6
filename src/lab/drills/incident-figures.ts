/** What the incidents of `alive-not-consuming` cost, and whether each was survived. Pure. */

import { confirmed, type Facts } from '../../service/audit/facts.ts';
import { isServiceError } from '../../service/errors.ts';
import type { Judged } from '../stage/result.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { type Audited, drillVerdict, findingsOf, notHeldTexts } from './audited.ts';
import type { Incident } from './incidents.ts';
import { type Phase, phaseOf } from './phases.ts';
import type { Readiness } from './readiness.ts';
import {
  answeredAt,
  firstAfterMs,
  isSale,
  longestGapBetweenMs,
  msBetween,
  sentBetween,
} from './try-times.ts';

/** All incidents of one load, in their order. */
export interface AllSeen {
  readonly seen: readonly Seen[];
  /** One sentence, when an incident did not come to its end; those after it were not played. */
  readonly unfinished: readonly string[];
}

/** Something that an incident waits for, such as a promotion, may never happen. */
export async function playInOrder(
  incidents: readonly Incident[],
  play: (incident: Incident) => Promise<Seen>,
): Promise<AllSeen> {
  const seen: Seen[] = [];
  for (const incident of incidents) {
    try {
      seen.push(await play(incident));
    } catch (error) {
      if (!isServiceError(error, 'DEADLINE_PASSED')) throw error;
      return { seen, unfinished: [`${incident.name}: ${error.message}`] };
    }
  }
  return { seen, unfinished: [] };
}

/** One incident. The times are nanoseconds of the clock of the tries. */
export interface Seen {
  readonly incident: Omit<Incident, 'play'>;
  readonly calmFrom: bigint;
  readonly brokenAt: bigint;
  readonly mendedAt: bigint;
  /** Null when no order was recorded in time. */
  readonly recordedAt: bigint | null;
  readonly until: bigint;
  readonly tries: readonly Try[];
  /** Since `brokenAt`. */
  readonly readiness: readonly Readiness[];
  /** Of the processes of the service that ended meanwhile. */
  readonly exitCodes: readonly (number | null)[];
}

const recordedMs = ({ recordedAt, mendedAt }: Seen): number | null =>
  recordedAt === null ? null : msBetween(mendedAt, recordedAt);

const notReady = ({ readiness }: Seen): number =>
  readiness.filter(({ isReady }) => !isReady).length;

/** The moments of the answers to the accepted purchases. */
const salesOf = ({ tries, calmFrom, until }: Seen): bigint[] =>
  tries
    .filter(isSale)
    .map(answeredAt)
    .filter((at) => at >= calmFrom && at < until);

const withoutSalesMs = (seen: Seen): number =>
  longestGapBetweenMs(salesOf(seen), seen.calmFrom, seen.until);

export function incidentPhase(rung: string, seen: Seen): Phase {
  const { incident, tries, brokenAt, mendedAt, until } = seen;
  return {
    ...phaseOf(rung, incident.name, sentBetween(tries, brokenAt, until)),
    withoutSalesMs: withoutSalesMs(seen),
    resumedAfterMs: firstAfterMs(salesOf(seen), mendedAt),
  };
}

/** A figure is missing when it did not happen. */
export function incidentFigures(all: readonly Seen[]): Record<string, number> {
  const recorded = all.flatMap((seen) => {
    const after = recordedMs(seen);
    return after === null ? [] : [[`${seen.incident.key}RecordedMs`, after] as const];
  });
  const ready = all.map((seen) => [`${seen.incident.key}NotReady`, notReady(seen)] as const);
  const replaced = all.flatMap(({ exitCodes }) => exitCodes).length;
  return { ...Object.fromEntries([...recorded, ...ready]), processesReplaced: replaced };
}

export function incidentReasons(
  { seen: all, unfinished }: AllSeen,
  audits: readonly Audited[],
): Pick<Judged, 'verdict' | 'reasons'> {
  const broken = [...all.flatMap(violations), ...audits.flatMap(({ facts }) => notRecorded(facts))];
  const idle = all.filter(isIdle).map(({ incident }) => `${incident.name}: nobody bought before`);
  const missing = [...idle, ...unfinished];
  const audited = notHeldTexts(audits.flatMap(findingsOf));
  const verdicts = audits.map(({ audit }) => audit.verdict);
  return drillVerdict(verdicts, { broken, audited, missing });
}

/** Every store answers by then, so an order that is still queued is passed over by the workers. */
function notRecorded(facts: Facts): string[] {
  const { voucherId, attempts = [] } = facts;
  const recorded = new Set(confirmed(facts).map(({ id }) => id));
  const missing = attempts.filter(
    (attempt) => isSale(attempt) && !recorded.has(attempt.orderId ?? ''),
  );
  if (missing.length === 0) return [];
  return [`voucher ${voucherId}: ${missing.length} accepted orders are not recorded`];
}

const isIdle = (seen: Seen): boolean => !salesOf(seen).some((at) => at < seen.brokenAt);

function violations(seen: Seen): string[] {
  const { name, recordedWithinMs, sellsWithinMs, readyz, exitCodes } = seen.incident;
  const after = recordedMs(seen);
  const found: string[] = [];
  if (after === null) found.push(`${name}: no order was recorded afterwards`);
  else if (after > recordedWithinMs)
    found.push(`${name}: recorded after ${after} ms, the limit is ${recordedWithinMs} ms`);
  const gapMs = withoutSalesMs(seen);
  if (sellsWithinMs !== undefined && gapMs > sellsWithinMs)
    found.push(`${name}: no sale for ${gapMs} ms, the limit is ${sellsWithinMs} ms`);
  const refusals = notReady(seen);
  if (readyz === 'not-ready' && refusals === 0) found.push(`${name}: /readyz stayed ready`);
  // A slow machine may miss the time limit of an answer now and then.
  if (readyz === 'ready' && refusals * 2 > seen.readiness.length)
    found.push(`${name}: /readyz was not ready`);
  if (seen.readiness.at(-1)?.isReady === false) found.push(`${name}: not ready at its end`);
  const codes = codesText(seen.exitCodes);
  if (codes !== codesText(exitCodes))
    found.push(`${name}: exit codes of ended processes: ${codes}`);
  return found;
}

const codesText = (codes: readonly (number | null)[]): string =>
  codes.map((code) => code ?? 'a signal').join(', ') || 'none';
