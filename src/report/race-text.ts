/** A race in lanes, one line a step, for an 80-column terminal. */
import type { Played, RaceResult } from '../races/judge.ts';
import { proofText, wrap } from './sentences.ts';

/** What a step may say, and what it came to: with three lanes they fill the line. */
export const saysWidth = 36;
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

/** A dot in its lane, `✗` for the wrong step, `…` for one that waits; what it does; what came of it, and where. */
function stepLine(
  { lane, says, at, instance = '', wrong, asPlanned }: Played,
  number: number,
  lanes: readonly string[],
  violated: boolean,
) {
  const mark = wrong && violated ? '✗' : at === 'waits' ? '…' : '●';
  const marks = lanes.map((each) => (each === lane ? `${mark}  ` : '   ')).join('');
  const words = (violated || asPlanned ? says : '').padEnd(saysWidth);
  return `${String(number).padStart(2)}  ${marks}${words} ${at.slice(0, atWidth).padEnd(atWidth)} ${instance}`.trimEnd();
}
