/**
 * Famous races as choices: the same schedule by hand, short enough for a link. Those that are
 * missing need a fault that is no choice.
 */
import type { RaceName } from './schedules.ts';

export interface RaceChoices {
  readonly choices: string;
  /** A lane stops at every checkpoint. */
  readonly stopsEverywhere?: boolean;
}

export const famousRaces: Partial<Readonly<Record<RaceName, RaceChoices>>> = {
  'lost-update': { choices: 'ABAB' },
  'check-then-insert': { choices: 'ABAB' },
  'unlock-before-commit': { choices: 'AAABBABB' },
  'crash-between-writes': { choices: 'AAAXA', stopsEverywhere: true },
  'permit-lost': { choices: 'AXA', stopsEverywhere: true },
  'two-processes': { choices: 'AABBAB' },
  'dead-holder': { choices: 'AXAB' },
  'crash-before-expire': { choices: 'AXAB', stopsEverywhere: true },
  'release-after-expiry': { choices: 'AAEABACBCBC' },
  'lease-expires-during-sale': { choices: 'AAAAEABBBAAABBBB', stopsEverywhere: true },
  'lease-without-watchdog': { choices: 'AAAAEABBBAABBB', stopsEverywhere: true },
  'paused-holder': { choices: 'AAAAPAEABBBRAAABBB', stopsEverywhere: true },
  'lost-wakeup': { choices: 'AABAAAAB', stopsEverywhere: true },
  'latch-after-exists': { choices: 'AABAAAAB', stopsEverywhere: true },
  'crash-before-publish': { choices: 'AXAB' },
  'instance-dies': { choices: 'AAXWB' },
  'worker-dies': { choices: 'AAXWB' },
  'worker-dies-after-commit': { choices: 'AAWXWB' },
  'worker-away': { choices: 'SWAAHWB' },
};

const stops = (stopsEverywhere = false): string => (stopsEverywhere ? ' --every-checkpoint' : '');

/** For the terminal. */
export const choicesOptions = ({ choices, stopsEverywhere }: RaceChoices): string =>
  `--choices ${choices}${stops(stopsEverywhere)}`;

export const choicesCommand = (rung: string, { choices, stopsEverywhere }: RaceChoices): string =>
  `npx lockstep race --choices ${choices} --rung ${rung}${stops(stopsEverywhere)}`;
