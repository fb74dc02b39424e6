/** One clock: that of the events, as far as this browser can tell it. */
import { signal } from '@preact/signals';
import type { StageEvent } from '../../lab/stage/events.ts';
import { msOf } from './lane-rows.ts';

let offsetMs = Number.POSITIVE_INFINITY;

/** Milliseconds of the clock of the events; it ticks twice a second. */
export const clockMs = signal(0);

/** The event that arrived fastest tells the difference between the two clocks best. */
export function hearTime(event: StageEvent): void {
  offsetMs = Math.min(offsetMs, performance.now() - msOf(event));
  tick();
}

export function tick(): void {
  clockMs.value = performance.now() - offsetMs;
}
