/** The four rungs that tell the story of the ladder; its sentences are in texts/. */
import type { RungName } from './rungs.ts';

export const story = {
  'one-process': { rung: 'mutex-per-user', instances: 1 },
  'four-processes': { rung: 'mutex-per-user', instances: 4 },
  'shared-lock': { rung: 'redis-atomic', instances: 4 },
  'one-script': { rung: 'lua-stream', instances: 4 },
} as const satisfies Record<string, { rung: RungName; instances: number }>;

export type StoryName = keyof typeof story;
export const storyNames = Object.keys(story) as StoryName[];
