/** A race in lanes, one line for each step, for an 80-column terminal. */

import { isRungName } from '../../service/ladder/rungs.ts';
import { type Language, texts } from '../../texts/texts.ts';
import { placeWords } from '../play/place-words.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { schedules } from '../play/schedules.ts';
import type { PlayedStep } from '../stage/events.ts';
import { instanceAt, nameOfPlace } from '../stage/place.ts';
import { evidenceIn } from '../stage/result.ts';
import { proofText } from './sentences.ts';
import { verdictWords } from './verdict-words.ts';
import { columns, padded, wrap } from './wrap.ts';

/** The widths of a step's text and of its result: with four lanes they fill the line. */
export const textWidth = 33;
const atWidth = 24;
/** Of both together: the name of a worker is longer than that of an instance. */
const atAndInstance = 29;

export function raceText(result: RaceResult, language: Language = 'en'): string {
  const { race, rung, verdict, steps } = result;
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  const violated = verdict === 'violated';
  const lines = steps.map((step, index) => {
    const words = stepWords(step, result, language);
    const at = placeWords(step.place, language);
    return stepLine(step, index + 1, lanes, { words, at, mark: stepMark(step, violated) });
  });
  return [
    wrap(verdictWords[language].raceTitle(race, rung, schedules[race].title[language])),
    '',
    `    ${lanes.map((lane) => `${lane}  `).join('')}`.trimEnd(),
    ...lines,
    '',
    ...verdictLines(result, language).map((line) => wrap(line)),
    ...(result.proof ? proofText(result.proof, language) : []),
    ...lessonLines(rung, language),
  ].join('\n');
}

/** The promise that the race is about, and what else broke. */
function verdictLines(result: RaceResult, language: Language = 'en'): string[] {
  const { verdict, shows, asClaimed, alsoBroken = [] } = result;
  const say = verdictWords[language];
  const evidence = evidenceIn(language, result);
  const words = [say.verdicts[verdict], asClaimed ? say.asClaimed : say.notAsClaimed];
  return [
    `${shows}: ${words.join(language === 'zh' ? '，' : ', ')}${evidence && `${language === 'zh' ? '：' : ': '}${evidence}`}`,
    ...(alsoBroken.length > 0 ? [say.alsoBroken(alsoBroken, asClaimed)] : []),
  ];
}

/** What a learner should take from the rung; nothing for a rung that is not of the ladder. */
export const lessonLines = (rung: string, language: Language): string[] =>
  isRungName(rung) ? ['', wrap(`${rung}: ${texts[language].rungs[rung].lesson}`)] : [];

/** The mark of a step: ✗ on the wrong step, … on a step that waits, ● on all others. */
function stepMark({ place, isWrong }: PlayedStep, violated: boolean): '✗' | '…' | '●' {
  if (isWrong && violated) return '✗';
  return place.is === 'waits' ? '…' : '●';
}

/** The mark of the step in its lane, the text and the result of the step, and the instance. */
function stepLine(
  { lane, place }: PlayedStep,
  number: number,
  lanes: readonly string[],
  { words, at, mark }: { readonly words: string; readonly at: string; readonly mark: string },
): string {
  const instance = instanceAt(place) ?? '';
  const marks = lanes.map((each) => (each === lane ? `${mark}  ` : '   ')).join('');
  const room = ' '.repeat(Math.max(0, textWidth - columns(words)));
  const width = Math.min(atWidth, atAndInstance - instance.length);
  const result = padded(at.slice(0, width), width);
  return `${String(number).padStart(2)}  ${marks}${words}${room} ${result} ${instance}`.trimEnd();
}

/**
 * Where the rung with the bug shows its bug, the words of a step are those of the schedule: they
 * tell the bug. Everywhere else they say only where the lane is.
 */
export function stepWords(
  { place, says, asPlanned }: PlayedStep,
  { race, rung, verdict }: Pick<RaceResult, 'race' | 'rung' | 'verdict'>,
  language: Language,
): string {
  const name = nameOfPlace(place);
  const isOfServers = name === 'injected' || name === 'healed';
  const showsBug = verdict === 'violated' && rung === schedules[race].rung;
  const isOfSchedule = isOfServers || (showsBug && asPlanned);
  return isOfSchedule ? says[language] : texts[language].steps[name];
}
