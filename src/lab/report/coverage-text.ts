/** What a soak has seen, for a terminal and a file. */
import { type Coverage, newCells } from '../soak/coverage.ts';
import { wrap } from './wrap.ts';

const mostMissing = 10;

export function coverageText(coverage: Coverage): string {
  const { declared, seen, curve, missing, isFlat } = coverage;
  const lastNew = curve.indexOf(curve.at(-1) ?? 0) + 1;
  const shown = missing.slice(0, mostMissing);
  const rest = missing.length > shown.length ? [`  and ${missing.length - shown.length} more`] : [];
  return [
    `cells: ${seen} of ${declared}, the last new one at fault ${lastNew} of ${curve.length}`,
    `new cells in each tenth of the faults: ${newCells(curve).join(' ')}`,
    `the tail is ${isFlat ? 'flat' : 'not flat yet'}`,
    ...shown.map((cell) => wrap(`  not seen: ${cell}`, 79, '    ')),
    ...rest,
  ].join('\n');
}
