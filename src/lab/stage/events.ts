/**
 * What an experiment emits while it plays: one typed stream with one clock. The terminal, the
 * report and a page are its readers, and read nothing else.
 */
import type { Attempt } from '../../audit/facts.ts';
import type { Verdict } from '../../domain.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';

/** An attempt when it is answered. `latencyMs` is missing when no answer came. */
export type Answered = Pick<Attempt, 'outcome' | 'reason' | 'answeredAt'> &
  Partial<Pick<Attempt, 'latencyMs' | 'userId' | 'requestId' | 'orderId' | 'instance'>>;

/** A lane runs, stands at a checkpoint, or is answered. */
export type LaneEvent =
  | { readonly is: 'running' }
  | { readonly is: 'paused'; readonly checkpoint: CheckpointName; readonly instance: string }
  | { readonly is: 'answered'; readonly outcome: Attempt['outcome']; readonly reason?: string };

export type Emitted =
  | { readonly kind: 'started'; readonly experiment: string; readonly options: object }
  /** A sentence for people. */
  | { readonly kind: 'note'; readonly text: string }
  /** The service runs in this shape from now on. */
  | { readonly kind: 'service'; readonly instances: number; readonly network: string }
  | {
      readonly kind: 'on-sale';
      readonly voucherId: string;
      readonly rung: string;
      readonly stock: number;
    }
  | { readonly kind: 'load-started' | 'load-ended'; readonly name: string }
  /** `id` tells two faults with one name apart. */
  | { readonly kind: 'fault' | 'healed'; readonly id: number; readonly name: string }
  | { readonly kind: 'purchase'; readonly attempt: Answered }
  | ({ readonly kind: 'lane'; readonly player: string; readonly lane: string } & LaneEvent)
  /** A step of a schedule, when it is done: where its lane is then. */
  | {
      readonly kind: 'step';
      readonly lane: string;
      readonly reached: string;
      readonly asPlanned: boolean;
      readonly instance?: string;
    }
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly reasons: readonly string[] };

/**
 * `at` is nanoseconds of CLOCK_MONOTONIC: the clock of every process of the machine, and of every
 * attempt. The stream is in the order of `number`: an answer is told when it is read.
 */
export type StageEvent = Emitted & { readonly number: number; readonly at: string };
export type Reader = (event: StageEvent) => void;
export type Emit = (event: Emitted, at?: string) => void;

/** @returns the function that emits to these readers. Its `at` is now, unless it is given. */
export function emitter(readers: readonly Reader[]): Emit {
  let count = 0;
  return (event, at = String(process.hrtime.bigint())) => {
    count += 1;
    const stamped = { ...event, number: count, at };
    for (const read of readers) read(stamped);
  };
}
