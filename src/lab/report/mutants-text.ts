/** The results of the mutants: a table for an 80-column terminal, and one for a page. */
import type { MutantResult } from '../mutants/run-mutants.ts';
import { markdownTable } from './markdown-table.ts';
import { plainTable } from './tables.ts';
import { wrap } from './wrap.ts';

const fixed = (seconds: number): string => seconds.toFixed(1);
const seen = ({ fate, turnsRed }: MutantResult): string => (fate === 'red' ? turnsRed : fate);

export function mutantsText(results: readonly MutantResult[]): string {
  const head = ['mutant', 'check that went red', 's', 'real rung', 's'];
  const rows = results.map((result) => [
    result.mutant,
    seen(result),
    fixed(result.seconds),
    result.real.verdict,
    fixed(result.real.seconds),
  ]);
  const faults = [...new Set(results.map(({ mutant, fault }) => `${mutant}: ${fault}`))];
  return [
    plainTable(head, rows, 2),
    '',
    'the fault of each, on the mutant and on the real rung:',
    ...faults.map((line) => wrap(line)),
    ...problems(results),
  ].join('\n');
}

/** What is not as expected, and what it means. */
function problems(results: readonly MutantResult[]): string[] {
  const lines = results.flatMap(({ mutant, defence, fate, turnsRed, violated, evidence, real }) => {
    const found: string[] = [];
    const others = violated.length > 0 ? `, only ${violated.join(', ')}` : '';
    if (fate === 'survived')
      found.push(
        `${mutant} survived, so this is not tested: ${defence}. ${turnsRed} held${others}.`,
      );
    if (fate === 'unknown') found.push(`${mutant} is unknown: ${evidence}`);
    if (real.verdict !== 'held')
      found.push(`the real rung, under the fault of ${mutant}: ${real.verdict}. ${real.evidence}`);
    return found;
  });
  return lines.length === 0 ? [] : ['', ...lines.map((line) => wrap(line))];
}

export function mutantsMarkdown(results: readonly MutantResult[]): string {
  const rows = results.map((result) => {
    const { mutant, defence, fault, seconds, real } = result;
    const cells = [`\`${mutant}\``, defence, fault, `\`${seen(result)}\``, fixed(seconds)];
    return [...cells, `${real.verdict} (${fixed(real.seconds)} s)`];
  });
  const head = ['mutant', 'the defence that is removed', 'fault', 'check that went red'];
  return markdownTable([[...head, 'seconds', 'real rung'], ...rows]);
}
