/** The table of trials: each is one fault at the moment that decides. */
import { mysqlTrials } from './mysql-trials.ts';
import { redisTrials } from './redis-trials.ts';
import type { Trial } from './trial.ts';
import { workerTrials } from './worker-trials.ts';

export const trials = {
  ...workerTrials,
  ...redisTrials,
  ...mysqlTrials,
} as const satisfies Record<string, Trial>;
export type TrialName = keyof typeof trials;
export const trialNames = Object.keys(trials) as TrialName[];

export const isTrialName = (name: string): name is TrialName => Object.hasOwn(trials, name);
