/** The results of mutants as one result: each must be red, and the real rung must hold. Pure. */
import type { Verdict } from '../../service/domain.ts';
import { countBy } from '../stage/count-by.ts';
import type { Judged, Table } from '../stage/result.ts';
import { type MutantName, mutants } from './mutants.ts';
import type { TrialCheck } from './run-trial.ts';
import { trials } from './trials.ts';

/** Of the real rung under the fault of a mutant. */
export interface RealRun {
  readonly verdict: Verdict;
  readonly seconds: number;
  /** Why it did not hold; empty otherwise. */
  readonly evidence: string;
}

export interface MutantResult {
  readonly mutant: MutantName;
  /** Its check saw it, or did not; `unknown` when nothing is proven. */
  readonly fate: 'red' | 'survived' | 'unknown';
  /** The checks that were violated; more than one defence may be behind another. */
  readonly violated: readonly TrialCheck[];
  readonly evidence: string;
  /** Until it was judged. */
  readonly seconds: number;
  readonly real: RealRun;
}

export function judgeMutants(results: readonly MutantResult[]): Judged {
  const { red = 0, survived = 0, unknown = 0 } = countBy(results.map(({ fate }) => fate));
  const isWrong = results.some(
    ({ fate, real }) => fate === 'survived' || real.verdict === 'violated',
  );
  const isKnown = results.every(
    ({ fate, real }) => fate !== 'unknown' && real.verdict !== 'unknown',
  );
  return {
    verdict: isWrong ? 'violated' : isKnown ? 'held' : 'unknown',
    reasons: results.flatMap(problems),
    figures: { red, survived, unknown },
    tables: [shortTable(results), wholeTable(results)],
    faults: countBy(results.map(({ mutant }) => faultOf(mutant))),
    facts: [],
  };
}

const fixed = (seconds: number): string => seconds.toFixed(1);
const faultOf = (name: MutantName): string => trials[mutants[name].trial].fault.en;
const seen = ({ mutant, fate }: MutantResult): string =>
  fate === 'red' ? mutants[mutant].turnsRed : fate;

const legend = {
  'check that went red': {
    en: 'in the trial without the defence; survived: that check held; unknown: it could not be told',
    zh: '去掉这道防线后变红的检查；survived 是该检查仍然通过；unknown 是无法判定',
  },
  'real rung': {
    en: 'the verdict on the rung with all its defences, under the same fault',
    zh: '防线齐全的方案在同一故障下的结果',
  },
};

const shortTable = (results: readonly MutantResult[]): Table => ({
  title: 'Mutants',
  legend: {
    ...legend,
    s: {
      en: 'seconds that the trial took: of the mutant, then of the real rung',
      zh: '试验用的秒数：先是变异体的，再是真实方案的',
    },
  },
  head: ['mutant', 'check that went red', 's', 'real rung', 's'],
  rows: results.map((result) => [
    ...[result.mutant, seen(result), fixed(result.seconds)],
    ...[result.real.verdict, fixed(result.real.seconds)],
  ]),
});

const wholeTable = (results: readonly MutantResult[]): Table => ({
  title: 'Defences and faults',
  legend,
  isWide: true,
  head: [
    ...['mutant', 'the defence that is removed', 'fault', 'check that went red', 'seconds'],
    ...['real rung', 'all that was violated', 'evidence'],
  ],
  rows: results.map((result) => {
    const { mutant, seconds, real, violated, evidence } = result;
    const held = `${real.verdict} (${fixed(real.seconds)} s)`;
    const about = [mutant, mutants[mutant].defence, faultOf(mutant)];
    return [...about, seen(result), fixed(seconds), held, violated.join(', '), evidence];
  }),
});

/** What is not as expected, and what it means. */
function problems(result: MutantResult): string[] {
  const { mutant, fate, violated, evidence, real } = result;
  const { defence, turnsRed } = mutants[mutant];
  const others = violated.length > 0 ? `, only ${violated.join(', ')}` : '';
  const found: string[] = [];
  if (fate === 'survived')
    found.push(
      `${mutant} survived, so this is not tested: ${defence}. ${turnsRed} held${others}. ` +
        `The fault: ${faultOf(mutant)}.`,
    );
  if (fate === 'unknown') found.push(`${mutant} is unknown: ${evidence}`);
  if (real.verdict !== 'held')
    found.push(`the real rung, under the fault of ${mutant}: ${real.verdict}. ${real.evidence}`);
  return found;
}
