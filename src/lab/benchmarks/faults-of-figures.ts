/**
 * Why figures do not count. A fast refusal is no fast purchase, and an accepted order counts once
 * it is recorded.
 */
import type { Rung } from '../../service/ladder/rung.ts';
import { rungNamed } from '../../service/ladder/rungs.ts';
import type { LoadMeasurement, MeasuredSale } from './measure.ts';
import type { Answers } from './wrk.ts';

/** Any other code than these is a fault; so is receiving none of them. */
export function faultsOfAnswers(
  name: string,
  { answers, broken, cpu }: LoadMeasurement,
  expected: string,
  alsoAllowed: readonly string[] = [],
): string[] {
  const faults = otherAnswers(name, answers, [expected, ...alsoAllowed]);
  if (broken > 0) faults.push(`${name}: ${broken} without an answer`);
  if (!answers[expected]) faults.push(`${name}: none ${expected}`);
  for (const [role, time] of Object.entries(cpu))
    if (time === null) faults.push(`${name}: a process of ${role} ended or started`);
  return faults;
}

/** A line for each code that is not one of the expected. */
export const otherAnswers = (
  name: string,
  answers: Answers,
  expected: readonly string[] = ['accepted'],
): string[] =>
  Object.entries(answers)
    .filter(([code]) => !expected.includes(code))
    .map(([code, count]) => `${name}: ${count} ${code}`);

export function faultsOfSale(rung: string, sale: MeasuredSale, connections: number): string[] {
  const { purchase, accepted, recorded } = sale;
  const unknown = purchase.broken + connections;
  return [
    ...faultsOfAnswers(rung, purchase, 'accepted', legitimateRefusals(rungNamed(rung))),
    ...faultsOfRecording(rung, accepted, recorded, unknown),
  ];
}

/**
 * @param unknown purchases that may have happened. At the end of a load, each connection may have
 * one whose answer is not counted.
 */
export function faultsOfRecording(
  name: string,
  accepted: number,
  recorded: number,
  unknown: number,
): string[] {
  if (recorded >= accepted && recorded <= accepted + unknown) return [];
  return [`${name}: ${accepted} orders accepted, ${recorded} recorded`];
}

/**
 * The refusals that a rung may give although stock is left. One without a lock and with a queue
 * has no reason to refuse.
 */
export function legitimateRefusals({ lock, retries, queue }: Rung): string[] {
  return [
    ...(lock ? ['busy', 'lease-lost', 'stale-fence', 'lock-service-unavailable'] : []),
    ...(retries === undefined ? [] : ['conflict']),
    ...(queue ? [] : ['database-busy']),
  ];
}
