/**
 * The letters of choices. `A` moves a buyer, `W` the order worker. `XA` kills its process, `PA`
 * pauses it, `RA` resumes it, `EA` ends its lease, `UA` loses its answer. `S2` stops redis-2, `H2`
 * starts it again; so do `SW` and `HW` with the order worker.
 */
import { workerLane } from '../stage/lane-messages.ts';

export const laneNames = ['A', 'B', 'C', 'D'] as const;

const acts = {
  X: 'kill',
  P: 'pause',
  R: 'resume',
  E: 'end-lease',
  U: 'lose-answer',
  S: 'stop',
  H: 'start',
} as const;
const pattern = /[XPREU]?[A-D]|X?W|[SH][1-3W]/g;

/** Longer plays teach nothing and do not fit into a link. */
export const lettersMax = 60;

export interface Act {
  readonly does: 'move' | (typeof acts)[keyof typeof acts];
  /** The lane, or the server. */
  readonly to: string;
}

/** @param choice one of `choicesIn` */
export function actOf(choice: string): Act {
  const does = acts[choice[0] as keyof typeof acts] ?? 'move';
  const last = choice.at(-1) ?? '';
  const isOfServer = (does === 'stop' || does === 'start') && last !== workerLane;
  return { does, to: isOfServer ? `redis-${last}` : last };
}

/** @returns null for a text that is no choices */
export function choicesIn(text: string): string[] | null {
  const choices = text.match(pattern) ?? [];
  return choices.join('') === text && text !== '' ? choices : null;
}

export const hasFaults = (choices: string): boolean =>
  (choicesIn(choices) ?? []).some((choice) => actOf(choice).does !== 'move');

/** Without a fault that other plays would feel: that of a process, or of a server. */
export const disturbsOnlyItsOwnPlay = (choices: string): boolean =>
  (choicesIn(choices) ?? []).every((choice) =>
    ['move', 'end-lease', 'lose-answer'].includes(actOf(choice).does),
  );

/** As many lanes as the choices name; two at least. */
export function lanesOf(choices: string, atLeast = 2): string[] {
  const named = [...choices].map((letter) => (laneNames as readonly string[]).indexOf(letter));
  return laneNames.slice(0, Math.max(atLeast - 1, ...named) + 1);
}

export interface RaceChoices {
  readonly choices: string;
  /** A lane stops at every checkpoint. */
  readonly stopsEverywhere?: boolean;
}

const stops = (stopsEverywhere = false): string => (stopsEverywhere ? ' --every-checkpoint' : '');

/** For the terminal. */
export const choicesOptions = ({ choices, stopsEverywhere }: RaceChoices): string =>
  `--choices ${choices}${stops(stopsEverywhere)}`;

export const choicesCommand = (rung: string, { choices, stopsEverywhere }: RaceChoices): string =>
  `npx lockstep race --choices ${choices} --rung ${rung}${stops(stopsEverywhere)}`;
