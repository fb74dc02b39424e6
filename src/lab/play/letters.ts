/**
 * The letters of choices. `A` moves a buyer, `W` the order worker. `XA` kills its process, `PA`
 * pauses it, `ZA` blocks its event loop, `RA` resumes it. `OA` cuts it off from its lock servers,
 * `MA` mends that. `EA` ends its lease; `TA` lets the time of its lease pass: it is renewed, or
 * ends. `UA` loses its answer. Before it begins, `GA` makes it forget to release, and `IA` makes it
 * buy inside its own lock. `S2` stops redis-2, `H2` starts it again; so do `SW` and `HW` with the
 * order worker. `KP` breaks something in the servers, and `MP` mends it.
 */
import { workerLane } from '../stage/lane-messages.ts';
import type { LockFaultName } from './lock-faults.ts';
import type { QueueFaultName } from './queue-faults.ts';

export const laneNames = ['A', 'B', 'C', 'D'] as const;

const acts = {
  X: 'kill',
  P: 'pause',
  Z: 'block',
  R: 'resume',
  E: 'end-lease',
  T: 'pass-time',
  U: 'lose-answer',
  S: 'stop',
  H: 'start',
  O: 'cut-off',
  G: 'forget',
  I: 'nest',
  K: 'break',
  M: 'mend',
} as const;

/** What can be broken in the servers; the others are a stop of one of them, or need time. */
export const serverFaults = {
  H: 'hold-replication',
  P: 'promote-replica',
  E: 'restart-empty',
  R: 'restart-all',
  S: 'flush-scripts',
  L: 'slow',
  T: 'pause',
  Q: 'queue-restarts',
  Y: 'database-restarts',
  X: 'session-killed',
  U: 'connections-used-up',
} as const satisfies Record<string, LockFaultName | QueueFaultName>;
export type ServerFault = (typeof serverFaults)[keyof typeof serverFaults];

/** They go on until they are mended. */
export const isLasting = (fault: ServerFault): boolean => lasting.includes(fault);
const lasting: readonly ServerFault[] = [
  ...(['promote-replica', 'slow', 'pause', 'connections-used-up'] as const),
];

const letters = Object.entries(serverFaults);
const broken = letters.map(([letter]) => letter).join('');
const mended = letters.filter(([, fault]) => isLasting(fault)).map(([letter]) => letter);
const pattern = new RegExp(
  `[XPZRETUOGIM]?[A-D]|[XPR]?${workerLane}|[SH][1-3${workerLane}]|K[${broken}]|M[${mended.join('')}]`,
  'g',
);

/** Longer plays teach nothing and do not fit into a link. */
export const lettersMax = 60;

export interface Act {
  readonly does: 'move' | (typeof acts)[keyof typeof acts];
  /** The lane, the server, or the fault. */
  readonly to: string;
}

/** The letters of `K` or `M` and this fault. */
export const lettersOfFault = (act: 'K' | 'M', fault: ServerFault): string =>
  act + letters.find(([, each]) => each === fault)?.[0];

const isFaultLetter = (letter: string): letter is keyof typeof serverFaults =>
  Object.hasOwn(serverFaults, letter);

/** @param choice one of `choicesIn` */
export function actOf(choice: string): Act {
  const does = acts[choice[0] as keyof typeof acts] ?? 'move';
  const last = choice.at(-1) ?? '';
  if ((does === 'break' || does === 'mend') && isFaultLetter(last))
    return { does, to: serverFaults[last] };
  const isOfServer = (does === 'stop' || does === 'start') && last !== workerLane;
  return { does, to: isOfServer ? `redis-${last}` : last };
}

/** About servers, and about no lane. */
export const isOfServers = ({ does, to }: Act): boolean =>
  ['stop', 'start', 'break', 'mend'].includes(does) && to.length > 1;

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
    ['move', 'end-lease', 'pass-time', 'lose-answer', 'forget', 'nest'].includes(
      actOf(choice).does,
    ),
  );

/** As many lanes as the choices name; two at least. */
export function lanesOf(choices: string, atLeast = 2): string[] {
  const named = [...choices].map((letter) => (laneNames as readonly string[]).indexOf(letter));
  return laneNames.slice(0, Math.max(atLeast - 1, ...named) + 1);
}

export interface RaceChoices {
  /** `AABB`: A is moved twice, then B. */
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
