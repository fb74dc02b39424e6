/** The last verdict of each race, as this browser has seen it. It is kept in the browser alone. */
import { effect, signal } from '@preact/signals';
import type { Verdict } from '../../service/domain.ts';
import { connection } from './api.ts';
import { liveWorld } from './event-log.ts';

const storeName = 'lockstep-seen-runs';

function stored(): ReadonlyMap<string, Verdict> {
  try {
    return new Map(JSON.parse(localStorage.getItem(storeName) ?? '[]') as [string, Verdict][]);
  } catch {
    return new Map(); // A file from the disk may not have a store.
  }
}

/** By the name of the experiment. */
export const seenRuns = signal<ReadonlyMap<string, Verdict>>(stored());

effect(() => {
  const { experiment, verdict } = liveWorld.value.run ?? {};
  if (!experiment || !verdict || connection.value !== 'open') return;
  if (seenRuns.peek().get(experiment) === verdict.verdict) return;
  seenRuns.value = new Map(seenRuns.peek()).set(experiment, verdict.verdict);
  try {
    localStorage.setItem(storeName, JSON.stringify([...seenRuns.peek()]));
  } catch {
    // Then it is known until the page is closed.
  }
});
