/** The four rungs that tell the story of the ladder; its sentences are in texts/. */
import type { RungName } from './rungs.ts';

interface StoryLine {
  readonly rung: RungName;
  readonly instances: number;
}

export const story = {
  'one-process': { rung: 'mutex-per-user', instances: 1 },
  'four-processes': { rung: 'mutex-per-user', instances: 4 },
  'shared-lock': { rung: 'redis-atomic', instances: 4 },
  'one-script': { rung: 'lua-stream', instances: 4 },
} as const satisfies Record<string, StoryLine>;

export type StoryName = keyof typeof story;
export const storyNames = Object.keys(story) as StoryName[];
