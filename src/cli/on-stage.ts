/** Plays on a stage of its own: its notes are told, and its events are kept. */

import { emitter, type StageEvent } from '../lab/stage/events.ts';
import type { Session } from '../lab/stage/runner.ts';
import { type Stage, withStage } from '../lab/stage/stage.ts';

export interface OnStage<T> {
  readonly played: T;
  /** But for the purchases, which are thousands. */
  readonly events: readonly StageEvent[];
}

export async function onStage<T>(
  { lab, signal, untilInterrupted }: Session,
  tell: (note: string) => void,
  play: (stage: Stage) => Promise<T>,
): Promise<OnStage<T>> {
  signal.throwIfAborted();
  const { events, keep } = keptEvents();
  const note = (event: StageEvent) => event.kind === 'note' && tell(event.text);
  const playing = withStage(lab, signal, play, emitter([keep, note]));
  return { played: await untilInterrupted(playing), events };
}

export function keptEvents() {
  const events: StageEvent[] = [];
  const keep = (event: StageEvent): void => {
    if (event.kind !== 'purchase') events.push(event);
  };
  return { events, keep };
}
