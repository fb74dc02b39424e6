/** A race in lanes, one line for each step, for an 80-column terminal. */
import { type Played, type RaceResult, waits } from '../races/race-verdict.ts';
import { proofText } from './sentences.ts';
import { wrap } from './wrap.ts';

/** The widths of a step's text and of its result: with four lanes they fill the line. */
export const textWidth = 33;
const atWidth = 24;
/** Of both together: the name of a worker is longer than that of an instance. */
const atAndInstance = 29;

export function raceText(result: RaceResult): string {
  const { race, title, rung, verdict, asClaimed, steps } = result;
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  const violated = verdict === 'violated';
  const head = wrap(`${race} on ${rung}: ${title}`);
  const lines = steps.map((step, index) => stepLine(step, index + 1, lanes, violated));
  const claim = asClaimed ? 'as claimed' : 'NOT as claimed';
  const evidence = result.evidence && `: ${result.evidence}`;
  const proof = result.proof ? proofText(result.proof) : [];
  return [
    head,
    '',
    `    ${lanes.map((lane) => `${lane}  `).join('')}`.trimEnd(),
    ...lines,
    '',
    wrap(`${verdict}, ${claim}${evidence}`),
    ...proof,
  ].join('\n');
}

/** The mark of a step: ✗ on the wrong step, … on a step that waits, ● on all others. */
export function stepMark({ at, wrong }: Played, violated: boolean): '✗' | '…' | '●' {
  if (wrong && violated) return '✗';
  return at === waits ? '…' : '●';
}

/** The words of a step, where it did what they say. */
export const stepWords = ({ text, asPlanned, wrong }: Played, violated: boolean): string =>
  violated || (asPlanned && !wrong) ? text : '';

/** The mark of the step in its lane, the text and the result of the step, and the instance. */
function stepLine(step: Played, number: number, lanes: readonly string[], violated: boolean) {
  const { lane, at, instance = '' } = step;
  const mark = stepMark(step, violated);
  const marks = lanes.map((each) => (each === lane ? `${mark}  ` : '   ')).join('');
  const words = stepWords(step, violated).padEnd(textWidth);
  const width = Math.min(atWidth, atAndInstance - instance.length);
  const result = at.slice(0, width).padEnd(width);
  return `${String(number).padStart(2)}  ${marks}${words} ${result} ${instance}`.trimEnd();
}
