/** The choices of a person: `race --choices AABB --rung mutex-per-user`. */
import { type RungName, rungNamed, rungNames } from '../../ladder/rungs.ts';
import { texts } from '../../ladder/texts/texts.ts';
import type { Experiment } from '../stage/experiment.ts';
import { workerLane } from '../stage/lane-messages.ts';
import type { Table, TableCell } from '../stage/result.ts';
import { choicesCommand, type RaceChoices } from './famous-races.ts';
import { claimedChecks, judgedPlay, serveLanes } from './judged-play.ts';
import { actOf, hasFaults, lanesOf } from './letters.ts';
import type { Choice, Place } from './places.ts';
import { withRowWaits } from './row-waits.ts';

export interface ChoicesOptions {
  readonly rung: RungName;
  readonly choices: string;
  /** A lane stops at every checkpoint. */
  readonly isFine?: boolean;
  /** Each choice says what it sent to Redis and MySQL. */
  readonly hasCommands?: boolean;
}

export const choicesByHand: Experiment<ChoicesOptions> = {
  about: 'each choice moves one buyer to the next stop; each buyer has an instance of its own',
  play: async (stage, { rung, choices, isFine = false, hasCommands = false }) => {
    await serveLanes(stage, lanesOf(choices).length);
    const request = { rung, choices, toTheEnd: false, isFine, hasCommands };
    const played = await withRowWaits(stage.lab, (waits) => judgedPlay(stage, request, waits));
    const claimed = hasFaults(choices)
      ? rungNamed(rung).breaks.map(({ check }) => check)
      : claimedChecks(rung);
    const [asClaimed, reasons] = [true, false].map((isClaimed) =>
      played.violated
        .filter(({ check }) => claimed.includes(check) === isClaimed)
        .map(({ check, worst, first }) => `${check}: ${worst ?? first}`),
    ) as [string[], string[]];
    return {
      verdict: played.violated.length > 0 ? 'violated' : 'held',
      isAsClaimed: reasons.length === 0,
      ...{ asClaimed, reasons, figures: stillWaiting(played.choices.at(-1)) },
      tables: [
        choicesTable(played.choices),
        ...(hasCommands ? [commandsTable(played.choices)] : []),
      ],
      hints: nextRung(rung, { choices, isFine }),
      facts: [played.facts],
    };
  },
};

/** Those that nobody will wake while no lease ends. */
function stillWaiting(last: Choice | undefined): Record<string, number> {
  const waiting = [...(last?.places.values() ?? [])].filter(({ is }) => is === 'waits');
  return waiting.length > 0 ? { stillWaiting: waiting.length } : {};
}

/** The ladder's whole lesson. */
function nextRung(rung: RungName, played: RaceChoices): string[] {
  const next = rungNames[rungNames.indexOf(rung) + 1];
  if (next === undefined) return [];
  return [`on the next rung: ${choicesCommand(next, played)}`];
}

/** A line for each lane that has moved. */
function choicesTable(choices: readonly Choice[]): Table {
  const rows = choices.flatMap((choice, index) => {
    const texts = choice.taken
      ? [...faultTexts(choice), ...movedTexts(choice, choices[index - 1])]
      : [stuckText(choice)];
    return texts.map((text, line) => [line === 0 ? choice.choice : '', text]);
  });
  return { title: 'What each choice did', head: ['choice', 'what happened'], rows };
}

const atFirst = (lane: string): Place => ({ is: lane === workerLane ? 'free' : 'idle' });

/** A terminal has room for the first words of a command. */
const mostColumns = 70;

function commandsTable(choices: readonly Choice[]): Table {
  const rows = choices.flatMap(({ choice, commands = [] }) =>
    commands.map(({ to, text }, line) => [line === 0 ? choice : '', cut(`${to}: ${text}`)]),
  );
  return { title: 'What each choice sent to Redis and MySQL', head: ['choice', 'command'], rows };
}

const cut = (full: string): TableCell =>
  full.length > mostColumns ? { short: `${full.slice(0, mostColumns)}…`, full } : full;

function movedTexts({ choice, places }: Choice, before: Choice | undefined): string[] {
  const wasIn = (lane: string) =>
    choice === `X${lane}` ? atFirst(lane) : (before?.places.get(lane) ?? atFirst(lane));
  const moved = [...places].filter(
    ([lane, place]) => textOf(place, places) !== textOf(wasIn(lane), places),
  );
  return moved.map(([lane, place]) => `${lane} ${textOf(place, places)}`);
}

/** Behind a queue an accepted order is not recorded yet. */
function textOf(place: Place, places: Choice['places']): string {
  const isAccepted = place.is === 'answered' && place.attempt.outcome === 'accepted';
  if (!isAccepted || !places.has(workerLane)) return placeText(place);
  return `${words['accepted']} (order ${place.attempt.orderId})`;
}

/** What a fault did, beside what it made the lanes do. */
function faultTexts({ choice }: Choice): string[] {
  const { does, to } = actOf(choice);
  if (does === 'end-lease') return [`the lease of ${to} ends`];
  if (does === 'resume') return [`the process of ${to} runs again`];
  if (does === 'lose-answer') return [`the answer of ${to} will be lost`];
  if (does === 'kill' && to === workerLane) return ['the process of W is killed; another starts'];
  if (does === 'stop') return [`${serverText(to)} stops`];
  return does === 'start' ? [`${serverText(to)} runs again`] : [];
}

const serverText = (to: string): string => (to === workerLane ? 'the order worker' : to);

function stuckText({ choice, lane, places }: Choice): string {
  const { does, to } = actOf(choice);
  if (to === workerLane && !places.has(to))
    return 'nothing: the order worker is no lane on this rung';
  if (does === 'end-lease') return `nothing: ${to} has no lease that can end`;
  if (to === workerLane && does !== 'move') return `nothing: that cannot be done to W now`;
  if (does === 'stop') return `nothing: this rung does not ask ${to}, or it is stopped already`;
  if (does === 'start') return `nothing: ${to} is not stopped`;
  if (does === 'pause') return `nothing: the process of ${to} cannot be paused now`;
  if (does === 'lose-answer') return `nothing: the next answer of ${to} cannot be lost now`;
  if (does === 'resume') return `nothing: the process of ${to} is not paused`;
  const place = places.get(lane) ?? atFirst(lane);
  const isOver = place.is === 'answered' ? 'is answered' : placeText(place);
  return `nothing: ${lane} ${isOver}`;
}

const words: Readonly<Record<string, string>> = texts.en.steps;

function placeText(place: Place): string {
  if (place.is === 'idle') return 'has not begun';
  if (place.is === 'at') return words[place.checkpoint] ?? place.checkpoint;
  if (place.is === 'waits') return waitText(place);
  if (place.is === 'paused') return 'stands still, with its process';
  if (place.is === 'dead') return 'is killed, with its process';
  if (place.is === 'free') return 'has no order in hand';
  if (place.is === 'stopped') return 'is stopped';
  const { outcome, reason = '', orderId } = place.attempt;
  if (outcome === 'accepted') return `${words['sold']} (order ${orderId})`;
  return words[reason] ?? `${outcome}: ${reason}`;
}

function waitText(place: Extract<Place, { readonly is: 'waits' }>): string {
  if (place.on === 'row') return 'waits for a row of the database';
  if (place.for === undefined) return 'waits for a lock that no buyer here has';
  return `waits for the lock of ${place.for}${place.isForDead ? ', whose process was killed' : ''}`;
}
