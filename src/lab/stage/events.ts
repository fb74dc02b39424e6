/**
 * What an experiment emits while it plays: one typed stream with one clock. The terminal, the
 * report and a page are its readers, and read nothing else.
 */

import type { Proof } from '../../service/audit/audit.ts';
import type { Attempt } from '../../service/audit/facts.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { RecordedEvidence } from '../../texts/evidence.ts';
import type { ReachedPlace } from './place.ts';
import type { Bilingual, ResultSummary, Text } from './result.ts';
import type { Second } from './seconds.ts';

/** An attempt when it is answered. `latencyMs` is missing when no answer came. */
export type BuyerAnswer = Pick<Attempt, 'outcome' | 'reason' | 'answeredAt'> &
  Partial<Pick<Attempt, 'latencyMs' | 'userId' | 'requestId' | 'orderId' | 'instance'>>;

/**
 * A lane runs, stands at a checkpoint, is answered, or its process was killed. The order worker is
 * free when it has no order in hand: it has settled it, or a new worker runs.
 */
export type LaneEvent =
  | { readonly is: 'running' }
  | { readonly is: 'dead' }
  | { readonly is: 'free'; readonly because: 'settled' | 'started' }
  | { readonly is: 'paused'; readonly checkpoint: CheckpointName; readonly instance: string }
  | ({ readonly is: 'answered' } & Pick<Attempt, 'outcome' | 'reason' | 'orderId'>);

/** One that somebody moves by choices. */
export interface PlayedLane {
  readonly name: string;
  readonly userId: string;
  readonly instance: string;
}

/** The value of a reading whose server does not answer. */
export const notRead = '?';

/** What a store has at this moment. No sentence: a reader has the words. */
export interface Reading {
  /** `mutex` and `node` are known by the history: no store says who has them. */
  readonly id: 'mutex' | 'node' | 'key' | 'stock-mysql' | 'stock-redis' | 'on-its-way' | 'orders';
  /** The instance, the server, or the user; of `on-its-way`: nothing. */
  readonly of: string;
  /** Empty: nobody has the lock, there is no key, no order. */
  readonly value: string;
  /** The lane that has the lock. */
  readonly lane?: string;
  /** Of the key's time to live. */
  readonly leftMs?: number;
}

/** A promise that the data of a play break now. */
export interface BrokenPromise extends RecordedEvidence {
  readonly check: CheckName;
  readonly orders: readonly string[];
}

export interface JudgedPromises {
  readonly broken: readonly BrokenPromise[];
  /** The checks that could not tell. */
  readonly unknown: readonly CheckName[];
  /** Every lane is over: no check about data is left out. */
  readonly isFinal: boolean;
  /** The lanes that have had one lock at once, and no lease of theirs had ended. */
  readonly ownersAtOnce?: readonly string[];
}

/** What happens in a play of choices. */
export type PlayEvent =
  | {
      readonly kind: 'play';
      readonly rung: string;
      readonly voucherId: string;
      readonly stock: number;
      readonly lanes: readonly PlayedLane[];
      /** Where a lane stands after a choice; it passes the other checkpoints. */
      readonly stops: readonly CheckpointName[];
      /** The choices that come at once. */
      readonly planned: string;
      /** The view that shows it, and what asked for it. */
      readonly slot: string;
      readonly request: string;
      /** A lane stops at every checkpoint. */
      readonly stopsEverywhere: boolean;
    }
  /** It can be played no more: it was replaced, or given back, or a step failed. */
  | { readonly kind: 'ended'; readonly because: 'left' | 'failed' }
  /** Not taken: the lane could not go. */
  | {
      readonly kind: 'choice';
      readonly step: number;
      readonly choice: string;
      readonly lane: string;
      readonly isTaken: boolean;
    }
  | ({ readonly kind: 'lock'; readonly lane: string } & Pick<
      HistoryEvent,
      'event' | 'resource' | 'instance' | 'fence'
    >)
  /** For the owner of a lock, or for a row that another transaction has changed. */
  | {
      readonly kind: 'waits';
      readonly lane: string;
      readonly on: 'lock' | 'row';
      readonly for?: string;
      /** The process of the owner was killed: nobody will release the lock. */
      readonly isForDead: boolean;
    }
  | { readonly kind: 'readings'; readonly readings: readonly Reading[] }
  | ({ readonly kind: 'judged' } & JudgedPromises)
  /** Nothing moves until the next choice. */
  | {
      readonly kind: 'still';
      readonly step: number;
      readonly tookMs: number;
      /** Of a lease whose time has passed. */
      readonly isRenewed?: boolean;
    };

/** A server, or a process of the service. */
export interface PartState {
  readonly name: string;
  readonly state: 'runs' | 'paused' | 'stopped';
}

/** A lock that servers have: by the server, what is left of its lease; null without a lease. */
export interface LockOnServers {
  readonly resource: string;
  /** The first letters of its id. */
  readonly owner: string;
  readonly leftOn: Readonly<Record<string, number | null>>;
}

/** A sale so far. */
export interface SaleCounts {
  readonly accepted: number;
  readonly refused: number;
  readonly refusedBecause: Readonly<Record<string, number>>;
  readonly unknown: number;
  /** Confirmed orders in MySQL; missing while it does not answer. */
  readonly recorded?: number;
  /** Of these, the second orders of a user. */
  readonly twice?: number;
  /** Dead-lettered: they can never be recorded. */
  readonly dead?: number;
  /** Behind a queue. Null while its server does not answer. */
  readonly queue?: null | {
    /** The orders that the queue has, and those of them that are given to an order worker. */
    readonly depth: number;
    /** Null: the queue does not say it. */
    readonly inHand: number | null;
    /** True: `depth` leaves out what a worker has in hand; `nowhere` has it too. */
    readonly isInHandUncounted: boolean;
    /** Accepted, and neither in the queue nor in MySQL: in the memory of a process, or lost. */
    readonly nowhere?: number;
  };
}

/** A step of a schedule, when it is done. */
export interface PlayedStep {
  readonly lane: string;
  /** Where its lane is then, or what has become of the step. */
  readonly place: ReachedPlace;
  /** The lane reached the place of the schedule; the fault hit. */
  readonly asPlanned: boolean;
  /** What the step does on the rung with the bug. */
  readonly says: Bilingual;
  /** On the rung with the bug it does the harm. */
  readonly isWrong: boolean;
}

/** What happens in a race whose steps are fixed. */
export type RaceEvent =
  | {
      readonly kind: 'race';
      readonly race: string;
      readonly rung: string;
      readonly title: Bilingual;
      /** Without a user: that of the order worker, or of the servers. */
      readonly lanes: readonly { readonly name: string; readonly userId?: string }[];
      /** The rung is the one that the race was written for: its steps tell the bug. */
      readonly isOfBug: boolean;
    }
  | ({ readonly kind: 'step' } & PlayedStep)
  | (RecordedEvidence & {
      readonly kind: 'race-judged';
      readonly shows: CheckName;
      readonly verdict: Verdict;
      readonly isAsClaimed: boolean;
      readonly alsoBroken: readonly CheckName[];
      readonly proof?: Proof;
    });

export type EventContent =
  | {
      readonly kind: 'started';
      readonly experiment: string;
      readonly about: Bilingual;
      readonly options: object;
    }
  /** A sentence for people. */
  | { readonly kind: 'note'; readonly text: Text }
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
  /** `load` is the name of its load, where it has one. */
  | { readonly kind: 'purchase'; readonly attempt: BuyerAnswer; readonly load?: string }
  | ({ readonly kind: 'lane'; readonly player: string; readonly lane: string } & LaneEvent)
  | (PlayEvent & { readonly player: string })
  | RaceEvent
  /** The clients of one second, when it is over; and when second 0 began, in nanoseconds. */
  | ({ readonly kind: 'second'; readonly beganAt: string } & Second)
  /** Every server that is part of the sale, when one of them has changed. */
  | { readonly kind: 'servers'; readonly parts: readonly PartState[] }
  | ({ readonly kind: 'counts'; readonly rung: string } & SaleCounts)
  /** The oldest locks, and how long locks are kept. Null: nobody knows, or none was granted. */
  | {
      readonly kind: 'locks';
      readonly rung: string;
      /** Those that do not answer: nobody knows what they have. */
      readonly unread: readonly string[];
      readonly locks: readonly LockOnServers[];
      readonly p99Ms: number | null;
    }
  /** A cell of a scoreboard, with what was seen there. */
  | { readonly kind: 'cell'; readonly cell: ScoredCell }
  | ({ readonly kind: 'verdict' } & ResultSummary)
  /** The lab is as it was before. Without a report it failed, and proves nothing. */
  | { readonly kind: 'over'; readonly report?: ReportAbout; readonly because?: string };

export interface ScoredCell {
  readonly rung: string;
  /** The fault of a race, or the name of an outage. */
  readonly fault: string;
  readonly isOutage: boolean;
  /** `✗2` */
  readonly mark: string;
  readonly says: string;
}

/** What stands in every report. */
export interface ReportAbout {
  /** Missing in the report itself. */
  readonly folder?: string;
  /** Repeats it. */
  readonly command: string;
  readonly time: string;
  /** Versions, by their programs. */
  readonly machine: Readonly<Record<string, string>>;
}

/**
 * `at` is nanoseconds of CLOCK_MONOTONIC: the clock of every process of the machine, and of every
 * attempt. The stream is in the order of `number`: an answer is told when it is read.
 */
export type StageEvent = EventContent & { readonly number: number; readonly at: string };
export type Reader = (event: StageEvent) => void;
export type Emit = (event: EventContent, at?: string) => void;

/** @returns the function that emits to these readers. Its `at` is now, unless it is given. */
export function emitter(readers: readonly Reader[]): Emit {
  let count = 0;
  return (event, at = String(process.hrtime.bigint())) => {
    count += 1;
    const stamped = { ...event, number: count, at };
    for (const read of readers) read(stamped);
  };
}
