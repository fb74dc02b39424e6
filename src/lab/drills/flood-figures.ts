/** What a flood did to the purchases beside it, and the verdict from it. Pure. */
import type { Facts } from '../../service/audit/facts.ts';
import type { Judged } from '../stage/result.ts';
import type { Purchase, Try } from '../workload/steady-purchases.ts';
import { auditAll } from './audited.ts';
import { judgeUnderFire, stormFigures } from './storm-figures.ts';

export interface Flooded {
  readonly name: string;
  /** How many had each code, or status. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface FloodedSale {
  readonly purchases: readonly Purchase[];
  readonly tries: readonly Try[];
  /** With the tries as attempts. */
  readonly facts: Facts;
  readonly floods: readonly Flooded[];
}

const limit = 'too-many-requests';
/** What a flood may be answered: `not-found` is `/readyz`, which nginx does not serve. */
const harmless: readonly string[] = [
  limit,
  '200',
  'unknown-voucher',
  'not-found',
  'unauthenticated',
];

export function judgeFlood({ purchases, tries, facts, floods }: FloodedSale): Judged {
  const audits = auditAll([facts]);
  const storm = stormFigures(purchases, tries, [facts]);
  const count = (of: (code: string) => boolean) =>
    floods
      .flatMap(({ answers }) => Object.entries(answers))
      .reduce((sum, [code, times]) => sum + (of(code) ? times : 0), 0);
  const figures = {
    ...storm,
    floodAnswers: count(() => true),
    floodRefused: count((code) => code === limit),
    floodFailed: count((code) => !harmless.includes(code)),
  };
  const { floodFailed } = figures;
  const broken = floodFailed > 0 ? [`${floodFailed} requests of the flood failed`] : [];
  const missed = floods.flatMap(missing);
  return { ...judgeUnderFire(storm, audits, { broken, missing: missed }), figures };
}

/** Fewer than the limit lets through in a second would be no flood. */
export const answersMin = 600;

export const countAll = (answers: Flooded['answers']): number =>
  Object.values(answers).reduce((sum, times) => sum + times, 0);

function missing({ name, answers }: Flooded): string[] {
  const all = countAll(answers);
  if (all < answersMin) return [`a flood of ${name} had ${all} answers only`];
  const isRefused = answers['not-found'] !== undefined || (answers[limit] ?? 0) > 0;
  return isRefused ? [] : [`nginx refused nothing of a flood of ${name}`];
}
