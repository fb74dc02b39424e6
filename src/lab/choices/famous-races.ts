/**
 * Famous races as choices: the same schedule by hand, short enough for a link. Those that are
 * missing need a fault that is no choice.
 */
import type { RaceName } from '../races/schedules.ts';

export interface RaceChoices {
  readonly choices: string;
  /** A lane stops at every checkpoint. */
  readonly isFine?: boolean;
}

export const famousRaces: Partial<Readonly<Record<RaceName, RaceChoices>>> = {
  'lost-update': { choices: 'ABAB' },
  'check-then-insert': { choices: 'ABAB' },
  'unlock-before-commit': { choices: 'AAABBABB' },
  'crash-between-writes': { choices: 'AAAXA', isFine: true },
  'permit-lost': { choices: 'AXA', isFine: true },
  'two-processes': { choices: 'AABBAB' },
  'dead-holder': { choices: 'AXAB' },
  'crash-before-expire': { choices: 'AXAB', isFine: true },
  'release-after-expiry': { choices: 'AAEABACBCBC' },
  'lease-expires-during-sale': { choices: 'AAAAEABBBAAABBBB', isFine: true },
  'lease-without-watchdog': { choices: 'AAAAEABBBAABBB', isFine: true },
  'paused-holder': { choices: 'AAAAPAEABBBRAAABBB', isFine: true },
  'lost-wakeup': { choices: 'AABAAAAB', isFine: true },
  'latch-after-exists': { choices: 'AABAAAAB', isFine: true },
  'crash-before-publish': { choices: 'AXAB' },
  'instance-dies': { choices: 'AAXWB' },
  'worker-dies': { choices: 'AAXWB' },
  'worker-dies-after-commit': { choices: 'AAWXWB' },
  'worker-away': { choices: 'SWAAHWB' },
};

const stops = (isFine = false): string => (isFine ? ' --every-checkpoint' : '');

/** For the terminal. */
export const choicesOptions = ({ choices, isFine }: RaceChoices): string =>
  `--choices ${choices}${stops(isFine)}`;

export const choicesCommand = (rung: string, { choices, isFine }: RaceChoices): string =>
  `npx lockstep race --choices ${choices} --rung ${rung}${stops(isFine)}`;
