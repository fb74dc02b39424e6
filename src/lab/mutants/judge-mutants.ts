/** The results of mutants as one result: each must be red, and the real rung must hold. Pure. */
import type { Verdict } from '../../service/domain.ts';
import { texts, verdictText } from '../../texts/texts.ts';
import { countBy } from '../stage/counts.ts';
import type { Bilingual, Judged, Table } from '../stage/result.ts';
import { type MutantName, mutants } from './mutants.ts';
import type { TrialCheck } from './run-trial.ts';
import { trials } from './trials.ts';

/** Of the real rung under the fault of a mutant. */
export interface RealRun {
  readonly verdict: Verdict;
  readonly seconds: number;
  /** Why it did not hold; empty otherwise. */
  readonly evidence: Bilingual;
}

export interface MutantResult {
  readonly mutant: MutantName;
  /** Its check saw it, or did not; `unknown` when nothing is proven. */
  readonly fate: 'red' | 'survived' | 'unknown';
  /** The checks that were violated; more than one defence may be behind another. */
  readonly violated: readonly TrialCheck[];
  readonly evidence: Bilingual;
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
    faults: countBy(results.map(({ mutant }) => faultOf(mutant).en)),
    facts: [],
  };
}

const fixed = (seconds: number): string => seconds.toFixed(1);
const faultOf = (name: MutantName): Bilingual => trials[mutants[name].trial].fault;
const seen = ({ mutant, fate }: MutantResult): string =>
  fate === 'red' ? mutants[mutant].turnsRed : fate;

const heads = {
  mutant: { en: 'mutant', zh: '变异体' },
  check: { en: 'check that went red', zh: '变红的检查' },
  real: { en: 'real rung', zh: '真实方案' },
};

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
  title: { en: 'Mutants', zh: '变异体' },
  legend: {
    ...legend,
    s: {
      en: 'seconds that the trial took: of the mutant, then of the real rung',
      zh: '试验用的秒数：先是变异体的，再是真实方案的',
    },
  },
  head: [heads.mutant, heads.check, 's', heads.real, 's'],
  rows: results.map((result) => [
    ...[result.mutant, seen(result), fixed(result.seconds)],
    ...[verdictText(result.real.verdict), fixed(result.real.seconds)],
  ]),
});

const wholeTable = (results: readonly MutantResult[]): Table => ({
  title: { en: 'Defences and faults', zh: '防线与故障' },
  legend,
  isWide: true,
  head: [
    ...[heads.mutant, { en: 'the defence that is removed', zh: '去掉的防线' }],
    ...[{ en: 'fault', zh: '故障' }, heads.check, { en: 'seconds', zh: '秒' }, heads.real],
    ...[
      { en: 'all that was violated', zh: '全部变红的检查' },
      { en: 'evidence', zh: '证据' },
    ],
  ],
  rows: results.map((result) => {
    const { mutant, seconds, real, violated, evidence } = result;
    const { en, zh } = verdictText(real.verdict);
    const held = {
      en: `${en} (${fixed(real.seconds)} s)`,
      zh: `${zh}（${fixed(real.seconds)} s）`,
    };
    const about = [mutant, mutants[mutant].defence, faultOf(mutant)];
    return [...about, seen(result), fixed(seconds), held, violated.join(', '), evidence];
  }),
});

/** What is not as expected, and what it means. */
function problems(result: MutantResult): Bilingual[] {
  const { mutant, fate, evidence, real } = result;
  const found: Bilingual[] = [];
  if (fate === 'survived') found.push(survivedText(result));
  if (fate === 'unknown')
    found.push({
      en: `${mutant} is unknown: ${evidence.en}`,
      zh: `${mutant} 无法判定，${evidence.zh}`,
    });
  if (real.verdict !== 'held')
    found.push({
      en: `the real rung, under the fault of ${mutant}: ${real.verdict}. ${real.evidence.en}`,
      zh: `真实方案，在 ${mutant} 的故障下：${texts.zh.verdicts[real.verdict]}。${real.evidence.zh}`,
    });
  return found;
}

function survivedText({ mutant, violated }: MutantResult): Bilingual {
  const { defence, turnsRed } = mutants[mutant];
  const fault = faultOf(mutant);
  const seen = violated.join(', ');
  return {
    en:
      `${mutant} survived, so this is not tested: ${defence.en}. ` +
      `${turnsRed} held${seen && `, only ${seen}`}. The fault: ${fault.en}.`,
    zh:
      `${mutant} 没有变红，说明这一条没测到：${defence.zh}。` +
      `${turnsRed} 仍然通过${seen && `，变红的只有 ${seen}`}。故障：${fault.zh}。`,
  };
}
