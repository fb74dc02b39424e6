/** An experiment that runs in the lab, or has run, as a pure function of its events. */
import type { StageEvent } from '../../stage/events.ts';

type Event<Kind extends StageEvent['kind']> = Extract<StageEvent, { readonly kind: Kind }>;

export interface RunView {
  /** `race-dead-holder-redis-atomic` */
  readonly experiment: string;
  readonly notes: readonly string[];
  readonly verdict?: Event<'verdict'>;
  readonly over?: Event<'over'>;
}

export function addToRun(run: RunView | undefined, event: StageEvent): RunView | undefined {
  if (event.kind === 'started') return { experiment: event.experiment, notes: [] };
  if (!run) return run;
  if (event.kind === 'note') return { ...run, notes: [...run.notes, event.text] };
  if (event.kind === 'verdict') return { ...run, verdict: event };
  if (event.kind === 'over') return { ...run, over: event };
  return run;
}
