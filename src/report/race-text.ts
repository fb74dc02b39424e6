/** A race in lanes, one line a step, for an 80-column terminal. */
import type { Played, RaceResult } from '../races/judge.ts';
import { proofText, wrap } from './sentences.ts';

const width = 79;

export function raceText(result: RaceResult): string {
  const { race, title, rung, verdict, asClaimed, steps } = result;
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  const violated = verdict === 'violated';
  const head = wrap(`${race} on ${rung}: ${title}`);
  const lines = steps.map((step, index) => stepLines(step, index + 1, lanes, violated));
  const judged = wrap(
    `${verdict}, ${asClaimed ? 'as claimed' : 'NOT as claimed'}${result.evidence && `: ${result.evidence}`}`,
  );
  return [
    head,
    '',
    laneHeads(lanes),
    ...lines,
    '',
    judged,
    ...(result.proof ? proofText(result.proof) : []),
  ].join('\n');
}

const laneWidth = (lanes: readonly string[]): number => Math.floor((width - 4) / lanes.length);

const laneHeads = (lanes: readonly string[]): string =>
  `    ${lanes.map((lane) => lane.padEnd(laneWidth(lanes))).join('')}`.trimEnd();

/** The step in its lane, over as many lines as it needs; the wrong one is marked. */
function stepLines(
  { lane, says, at, instance, wrong }: Played,
  number: number,
  lanes: readonly string[],
  violated: boolean,
): string {
  const room = laneWidth(lanes);
  const mark = wrong && violated ? '✗' : ' ';
  const words = violated ? `${says} [${at}]` : `[${at}]`;
  const text = wrap(instance === undefined ? words : `${words} ${instance}`, room - 2, '');
  const margin = ' '.repeat(room * lanes.indexOf(lane));
  return text
    .split('\n')
    .map((line, index) => `${index === 0 ? `${String(number).padStart(2)}${mark} ` : '    '}${margin}${line}`)
    .join('\n');
}
