/**
 * What happened, in the order it happened: in the lab every process appends its events to a file of its own, with a clock
 * that all processes of a machine share. Nothing in production.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointName } from './checkpoints.ts';
import type { Order } from './domain.ts';

type What =
  | 'granted'
  | 'lost'
  | 'left'
  | 'died'
  | 'checkpoint'
  | 'held'
  | 'let-on'
  | 'accepted'
  | 'refused'
  | 'unknown'
  | 'recorded';

export interface HistoryEvent {
  /** Nanoseconds of CLOCK_MONOTONIC, which is the same for every process of the machine. A string: it passes 2^53. */
  readonly at: string;
  readonly instance: string;
  readonly event: What;
  readonly voucherId: string;
  readonly userId: string;
  readonly orderId: string;
  /** Which one was passed. */
  readonly checkpoint?: CheckpointName;
  /** What the lock is on. */
  readonly resource?: string;
  readonly reason?: string;
}

/** The end of a process, as its parent saw it. */
export interface Death {
  readonly at: string;
  readonly event: 'died';
  readonly pid: number;
}

let sink: ((entry: object) => void) | undefined;

export const record = (event: Omit<HistoryEvent, 'at' | 'instance'>): void => sink?.(event);

export const recordDeath = (pid: number): void => sink?.({ event: 'died', pid });

/** Whose event it is. */
export const about = ({ id: orderId, voucherId, userId }: Order) => ({ voucherId, userId, orderId });

export const keepsHistory = (): boolean => sink !== undefined;

/** For the lab only. Written at once, so that a killed process takes nothing with it. */
export function keepHistory(folder: string, instance: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${instance}-${process.pid}.jsonl`);
  sink = (entry) => {
    const line = JSON.stringify({ at: String(process.hrtime.bigint()), instance, ...entry });
    try {
      appendFileSync(file, `${line}\n`);
    } catch (error) {
      process.emitWarning(`The history has a gap: ${error}`); // A sale must not fail because of it.
    }
  };
}
