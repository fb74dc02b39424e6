/** A race in lanes, one line for each step, for an 80-column terminal. */
import type { Played, RaceResult } from '../races/race-verdict.ts';
import { proofText } from './sentences.ts';
import { wrap } from './wrap.ts';

/** The widths of a step's text and of its result: with three lanes they fill the line. */
export const textWidth = 36;
const atWidth = 24;

export function raceText(result: RaceResult): string {
  const { race, title, rung, verdict, asClaimed, steps } = result;
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  const violated = verdict === 'violated';
  const head = wrap(`${race} on ${rung}: ${title}`);
  const lines = steps.map((step, index) => stepLine(step, index + 1, lanes, violated));
  const judged = wrap(
    `${verdict}, ${asClaimed ? 'as claimed' : 'NOT as claimed'}${result.evidence && `: ${result.evidence}`}`,
  );
  const proof = result.proof ? proofText(result.proof) : [];
  return [
    head,
    '',
    `    ${lanes.map((lane) => `${lane}  `).join('')}`.trimEnd(),
    ...lines,
    '',
    judged,
    ...proof,
  ].join('\n');
}

/** A dot in its lane (`✗` the wrong step, `…` a step that waits), what it does, its result, and the instance. */
function stepLine(
  { lane, text, at, instance = '', wrong, asPlanned }: Played,
  number: number,
  lanes: readonly string[],
  violated: boolean,
) {
  const mark = wrong && violated ? '✗' : at === 'waits' ? '…' : '●';
  const marks = lanes.map((each) => (each === lane ? `${mark}  ` : '   ')).join('');
  const words = (violated || asPlanned ? text : '').padEnd(textWidth);
  return `${String(number).padStart(2)}  ${marks}${words} ${at.slice(0, atWidth).padEnd(atWidth)} ${instance}`.trimEnd();
}
