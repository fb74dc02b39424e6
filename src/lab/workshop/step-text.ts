/** A step in a terminal: the question, and what a group may know of it so far. */
import type { Verdict } from '../../service/domain.ts';
import type { Language } from '../../texts/texts.ts';
import { verdictWords } from '../report/verdict-words.ts';
import { wrap } from '../report/wrap.ts';
import type { Answer } from '../stage/result.ts';
import { terminalText } from './markdown.ts';
import type { Progress, Seen } from './progress.ts';
import type { Step } from './steps.ts';
import { languageOption, workshopTexts } from './texts.ts';

export const marks: Readonly<Record<Answer, string>> = { yes: '✓', no: '✗', unknown: '?' };
const command = (words: string, language: Language): string =>
  `    npx lockstep workshop ${words}${languageOption(language)}`;

export function currentStep(steps: readonly Step[], { step }: Progress): Step {
  const found = steps[step];
  if (!found) throw new RangeError(`the workshop has ${steps.length} steps`);
  return found;
}

/** Why a step is right is shown once its commands were played. */
export function stepInTerminal(
  steps: readonly Step[],
  progress: Progress,
  language: Language,
): string {
  const say = workshopTexts[language];
  const step = currentStep(steps, progress);
  const prediction = progress.predictions[progress.step];
  const seen = progress.seen[progress.step];
  const parts = [
    wrap(say.step(progress.step + 1, steps.length, step.title)),
    terminalText(step.question),
    ...(prediction === undefined
      ? asked(step, language)
      : playing(step, prediction, seen, language)),
    ...(seen ? explained(step, progress.step === steps.length - 1, language) : []),
  ];
  return parts.join('\n\n');
}

function asked({ choices }: Step, language: Language): string[] {
  const lines = choices.map(({ letter, text }) => wrap(`  ${letter}  ${text}`, 79, '     '));
  const letters = choices.map(({ letter }) => letter).join('|');
  return [
    [workshopTexts[language].toPredict, ...lines].join('\n'),
    command(`predict ${letters}`, language),
  ];
}

function playing(
  { todo, right }: Step,
  prediction: string,
  seen: readonly Seen[] | undefined,
  language: Language,
): string[] {
  const say = workshopTexts[language];
  if (!seen) {
    const toPlay = `${say.toPlay}\n${command('verify', language)}`;
    return [say.predicted(prediction), terminalText(todo), toPlay];
  }
  const fate = prediction === right ? say.isRight : say.isNotRight(right);
  return [
    [say.played, ...seen.map((each) => seenLine(each, language))].join('\n'),
    `${say.predicted(prediction)} ${fate}`,
  ];
}

const isVerdict = (word: string | undefined): word is Verdict =>
  word === 'held' || word === 'violated' || word === 'unknown';

function seenLine(seen: Seen, language: Language): string {
  const { play, answer, reasons } = seenIn(language, seen);
  const why = answer === 'unknown' ? reasons : [];
  const words = seenWords(seen, workshopTexts[language].asClaimed, language, why.join('; '));
  return [
    wrap(`  ${marks[answer]} ${play}`, 79, '    '),
    wrap(`      ${words}`, 79, '      '),
  ].join('\n');
}

/** In English where the Chinese is not known. */
export const seenIn = (language: Language, seen: Seen): Seen =>
  language === 'zh' ? { ...seen, ...seen.inChinese } : seen;

/** The verdict of a play, whether it is as claimed, and what else broke. */
export function seenWords(
  seen: Seen,
  claims: Readonly<Record<Answer, string>>,
  language: Language,
  why = '',
): string {
  const say = verdictWords[language];
  const { answer, verdict, alsoBroken = [] } = seenIn(language, seen);
  const claim = claims[answer];
  const word = isVerdict(verdict) ? say.verdicts[verdict] : verdict;
  const others = alsoBroken.length > 0 ? say.alsoBroken(alsoBroken, answer === 'yes') : '';
  const both = [word, claim, why].filter(Boolean).join(language === 'zh' ? '，' : ', ');
  return [both, others].filter(Boolean).join(language === 'zh' ? '；' : '; ');
}

function explained({ why, code, exercise }: Step, isLast: boolean, language: Language): string[] {
  const say = workshopTexts[language];
  const titled = (title: string, text: string) => `${title}\n${terminalText(text)}`;
  return [
    titled(say.why, why),
    titled(say.code, code),
    titled(say.exercise, exercise),
    isLast
      ? `${say.isLast}\n${command('findings', language)}`
      : `${say.goOn}\n${command('next', language)}`,
  ];
}
