/** What a drill with more and more order workers has seen, in numbers, and its verdict. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import type { Judged } from '../stage/result.ts';
import type { Purchase, Try } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import { judgeUnderFire, stormFigures } from './storm-figures.ts';

/** A worker that was killed with orders in hand. */
export interface Killed {
  readonly worker: string;
  /** For each shard, the orders that it had when it died. */
  readonly inHand: readonly (readonly string[])[];
  /** Of these, those that MySQL had already: nobody had to take them over. */
  readonly recordedBefore: number;
  /** From its death until none was pending for it; null when some always were. */
  readonly claimedMs: number | null;
  /** The orders that workers with another name recorded. */
  readonly recordedByOthers: ReadonlySet<string>;
}

/** One number of workers. */
export interface ScaleStep {
  readonly workers: number;
  /** `api-worker-2, shard 3`, for each consumer that is missing. */
  readonly withoutConsumer: readonly string[];
  /** Orders that waited, and how long it took to record them; null when it took too long. */
  readonly waiting: number;
  readonly recordedMs: number | null;
  /** Undefined where no worker would be left. */
  readonly killed: Killed | undefined;
  readonly purchases: readonly Purchase[];
  readonly tries: readonly Try[];
  readonly facts: readonly Facts[];
}

export function judgeScaleOut(steps: readonly ScaleStep[]): Judged {
  const all = <T>(of: (step: ScaleStep) => readonly T[]): T[] => steps.flatMap(of);
  const figures = stormFigures(
    all(({ purchases }) => purchases),
    all(({ tries }) => tries),
    all(({ facts }) => facts),
  );
  const { accepted, recorded, lost, usersWithTwoOrders } = figures;
  const audits = auditAll(all(({ facts }) => facts));
  return {
    ...judgeUnderFire(figures, audits, { broken: all(violations), missing: all(missingParts) }),
    figures: {
      ...Object.fromEntries(all(figuresOf)),
      ...{ accepted, recorded, lost, usersWithTwoOrders },
    },
  };
}

const nameOf = ({ workers }: ScaleStep): string =>
  workers === 1 ? '1 worker' : `${workers} workers`;

function violations(step: ScaleStep): string[] {
  const { withoutConsumer, waiting, recordedMs, killed } = step;
  const found = withoutConsumer.map((each) => `no consumer of its own: ${each}`);
  if (recordedMs === null) found.push(`${waiting} orders that waited were not recorded`);
  if (killed) found.push(...notTakenOver(killed));
  return found.map((each) => `${nameOf(step)}: ${each}`);
}

function notTakenOver({ worker, inHand, claimedMs, recordedByOthers }: Killed): string[] {
  const orders = inHand.flat();
  const left = orders.filter((id) => !recordedByOthers.has(id)).length;
  const found: string[] = [];
  if (claimedMs === null) found.push(`orders of ${worker} were never claimed`);
  if (left > 0) found.push(`${left} orders that ${worker} had were recorded by no other worker`);
  return found;
}

/** Without these, nothing could have gone wrong. */
function missingParts(step: ScaleStep): string[] {
  const { killed, waiting, workers } = step;
  const missing: string[] = [];
  if (waiting === 0) missing.push('no order waited');
  if (workers > 1 && !killed) missing.push('no worker was killed');
  if (killed?.inHand.some((orders) => orders.length === 0))
    missing.push(`${killed.worker} had no order of a shard in hand`);
  if (killed && killed.recordedBefore > 0)
    missing.push(`MySQL had ${killed.recordedBefore} of the orders in hand already`);
  return missing.map((each) => `${nameOf(step)}: ${each}`);
}

function figuresOf(step: ScaleStep): [string, number][] {
  const { waiting, recordedMs, killed } = step;
  const figures: [string, number][] = [];
  if (recordedMs !== null)
    figures.push(['recorded per second', (waiting * 1_000) / Math.max(1, recordedMs)]);
  if (killed) figures.push(['in hand at the kill', killed.inHand.flat().length]);
  if (killed && killed.claimedMs !== null) figures.push(['claimed after ms', killed.claimedMs]);
  return figures.map(([name, value]) => [`${nameOf(step)}, ${name}`, value]);
}
