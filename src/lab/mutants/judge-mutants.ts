/** The results of mutants as one result: each must be red, and the real rung must hold. Pure. */
import { countBy } from '../../grouping.ts';
import type { Judged, Table } from '../stage/result.ts';
import type { MutantResult } from './run-mutants.ts';

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
    faults: countBy(results.map(({ fault }) => fault)),
    facts: [],
  };
}

const fixed = (seconds: number): string => seconds.toFixed(1);
const seen = ({ fate, turnsRed }: MutantResult): string => (fate === 'red' ? turnsRed : fate);

const shortTable = (results: readonly MutantResult[]): Table => ({
  title: 'Mutants',
  head: ['mutant', 'check that went red', 's', 'real rung', 's'],
  rows: results.map((result) => [
    ...[result.mutant, seen(result), fixed(result.seconds)],
    ...[result.real.verdict, fixed(result.real.seconds)],
  ]),
});

const wholeTable = (results: readonly MutantResult[]): Table => ({
  title: 'Defences and faults',
  isWide: true,
  head: [
    ...['mutant', 'the defence that is removed', 'fault', 'check that went red', 'seconds'],
    ...['real rung', 'all that was violated', 'evidence'],
  ],
  rows: results.map((result) => {
    const { mutant, defence, fault, seconds, real, violated, evidence } = result;
    const held = `${real.verdict} (${fixed(real.seconds)} s)`;
    const why = [violated.join(', '), evidence];
    return [mutant, defence, fault, seen(result), fixed(seconds), held, ...why];
  }),
});

/** What is not as expected, and what it means. */
function problems(result: MutantResult): string[] {
  const { mutant, defence, fault, fate, turnsRed, violated, evidence, real } = result;
  const others = violated.length > 0 ? `, only ${violated.join(', ')}` : '';
  const found: string[] = [];
  if (fate === 'survived')
    found.push(
      `${mutant} survived, so this is not tested: ${defence}. ${turnsRed} held${others}. ` +
        `The fault: ${fault}.`,
    );
  if (fate === 'unknown') found.push(`${mutant} is unknown: ${evidence}`);
  if (real.verdict !== 'held')
    found.push(`the real rung, under the fault of ${mutant}: ${real.verdict}. ${real.evidence}`);
  return found;
}
