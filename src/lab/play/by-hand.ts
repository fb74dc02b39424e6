/** The choices of a person: `race --choices AABB --rung mutex-per-user`. */

import { type RungName, rungNamed, rungNames } from '../../service/ladder/rungs.ts';
import { findingTexts } from '../../texts/evidence.ts';
import { type Language, texts } from '../../texts/texts.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Place } from '../stage/place.ts';
import { ofName, type Table, type TableCell } from '../stage/result.ts';
import type { Experiment } from '../stage/stage.ts';
import { choiceWords, placeText, stuckText } from './choice-words.ts';
import { type AskedPlay, claimedChecks, judgedPlay, serveLanes } from './judged-play.ts';
import { actOf, choicesCommand, hasFaults, lanesOf, type RaceChoices } from './letters.ts';
import type { Choice } from './play.ts';
import { rowWaitsNow } from './row-waits.ts';

export interface ChoicesOptions extends AskedPlay {
  /** Of what happened. */
  readonly language?: Language;
}

export const choicesByHand: Experiment<ChoicesOptions> = {
  about: {
    en: 'each choice moves one buyer to the next stop; each buyer has an instance of its own',
    zh: '每个选择让一个买家走到下一站；每个买家有自己的实例',
  },
  play: async (stage, { language = 'en', ...asked }) => {
    const { rung, choices, hasCommands } = asked;
    await serveLanes(stage, lanesOf(choices).length);
    const played = await judgedPlay(stage, asked, rowWaitsNow(stage.lab));
    const claimed = hasFaults(choices)
      ? rungNamed(rung).breaks.map(({ check }) => check)
      : claimedChecks(rung);
    const broken = (isClaimed: boolean) =>
      played.violated
        .filter(({ check }) => claimed.includes(check) === isClaimed)
        .map(findingTexts);
    const reasons = broken(false);
    const { ownersAtOnce = [] } = played.choices.at(-1) ?? {};
    const { en, zh } = choiceWords;
    const atOnce = { en: en.atOnce(ownersAtOnce), zh: zh.atOnce(ownersAtOnce) };
    if (ownersAtOnce.length > 0 && !hasFaults(choices))
      reasons.push(ofName('mutual-exclusion', atOnce));
    return {
      verdict: played.violated.length > 0 ? 'violated' : 'held',
      isAsClaimed: reasons.length === 0,
      asClaimed: broken(true),
      reasons,
      figures: figuresAt(played.choices.at(-1)),
      tables: [
        choicesTable(played.choices, language),
        ...(hasCommands ? [commandsTable(played.choices, language)] : []),
      ],
      hints: nextRung(rung, asked, language),
      facts: [played.facts],
    };
  },
};

/** Those that nobody will wake while no lease ends; those that have had one lock. */
function figuresAt(last: Choice | undefined): Record<string, number> {
  const waiting = [...(last?.places.values() ?? [])].filter(({ is }) => is === 'waits').length;
  const ownersAtOnce = last?.ownersAtOnce.length ?? 0;
  return {
    ...(waiting > 0 && { stillWaiting: waiting }),
    ...(ownersAtOnce > 0 && { ownersAtOnce }),
  };
}

/** The ladder's whole lesson. */
function nextRung(rung: RungName, played: RaceChoices, language: Language): string[] {
  const next = rungNames[rungNames.indexOf(rung) + 1];
  if (next === undefined) return [];
  return [choiceWords[language].onNextRung(choicesCommand(next, played))];
}

/** A line for each lane that has moved. */
function choicesTable(choices: readonly Choice[], language: Language): Table {
  const { title, head } = choiceWords[language];
  const rows = choices.flatMap((choice, index) => {
    const texts = choice.taken
      ? [...faultTexts(choice, language), ...movedTexts(choice, choices[index - 1], language)]
      : [notTaken(choice, language)];
    return texts.map((text, line) => [line === 0 ? choice.choice : '', text]);
  });
  return { title, head, rows };
}

const atFirst = (lane: string): Place => ({ is: lane === workerLane ? 'free' : 'idle' });

/** A terminal has room for the first words of a command. */
const columnsMax = 70;

function commandsTable(choices: readonly Choice[], language: Language): Table {
  const { commands: title, commandsHead: head } = choiceWords[language];
  const rows = choices.flatMap(({ choice, commands = [] }) =>
    commands.map(({ to, text }, line) => [line === 0 ? choice : '', cut(`${to}: ${text}`)]),
  );
  return { title, head, rows };
}

const cut = (full: string): TableCell =>
  full.length > columnsMax ? { short: `${full.slice(0, columnsMax)}…`, full } : full;

function movedTexts(
  { choice, places, ownersAtOnce }: Choice,
  before: Choice | undefined,
  language: Language,
): string[] {
  const wasIn = (lane: string) =>
    choice === `X${lane}` ? atFirst(lane) : (before?.places.get(lane) ?? atFirst(lane));
  const moved = [...places].filter(
    ([lane, place]) => textOf(place, places, language) !== textOf(wasIn(lane), places, language),
  );
  const shared = ownersAtOnce.length > 0 && before?.ownersAtOnce.length === 0;
  return [
    ...moved.map(([lane, place]) => `${lane} ${textOf(place, places, language)}`),
    ...(shared ? [choiceWords[language].atOnce(ownersAtOnce)] : []),
  ];
}

/** Behind a queue an accepted order is not recorded yet. */
function textOf(place: Place, places: Choice['places'], language: Language): string {
  const isAccepted = place.is === 'answered' && place.attempt.outcome === 'accepted';
  if (!isAccepted || !places.has(workerLane)) return placeText(place, language);
  const { accepted = '' }: Readonly<Record<string, string>> = texts[language].steps;
  return choiceWords[language].order(accepted, place.attempt.orderId ?? '');
}

/** What a fault did, beside what it made the lanes do. */
function faultTexts({ choice, isRenewed = false }: Choice, language: Language): string[] {
  const { does, to } = actOf(choice);
  const did = choiceWords[language].did(does, to, isRenewed);
  return did === undefined ? [] : [did];
}

function notTaken({ choice, lane, places }: Choice, language: Language): string {
  const { to } = actOf(choice);
  if (to === workerLane && !places.has(to)) return choiceWords[language].noWorkerLane;
  return stuckText(choice, lane, places.get(lane) ?? atFirst(lane), language);
}
