/**
 * What happened, in order. In the lab every process appends its events to its own file, with a
 * clock that all processes of the machine share. Nothing in production.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Order } from '../domain.ts';
import { type CheckpointName, currentOrder } from './checkpoints.ts';

/**
 * The life of a lock: requested, then granted or denied; expired when the lease ended before the
 * release; releasing from the call of `release` on (the critical section ends here), released once
 * the lock service has answered.
 */
export type LockEvent = 'requested' | 'granted' | 'denied' | 'expired' | 'releasing' | 'released';

type EventName =
  | LockEvent
  | 'waiting'
  | 'received'
  | 'checkpoint'
  | 'paused'
  | 'resumed'
  | 'committed'
  | 'duplicate'
  | 'accepted'
  | 'refused'
  | 'unknown'
  | 'recorded'
  | 'dead-lettered'
  | 'died';

export interface HistoryEvent {
  /**
   * Nanoseconds of CLOCK_MONOTONIC, which is the same for every process of the machine. A string:
   * it passes 2^53.
   */
  readonly at: string;
  readonly instance: string;
  readonly event: EventName;
  readonly voucherId: string;
  readonly userId: string;
  readonly orderId: string;
  readonly requestId: string;
  readonly checkpoint?: CheckpointName;
  readonly resource?: string;
  /** The fence of the lease that was granted, where the lock has one. */
  readonly fence?: string;
  readonly reason?: string;
}

/** The end of a process, as its parent saw it. */
export interface Death {
  readonly at: string;
  readonly event: 'died';
  readonly pid: number;
}

let sink: ((entry: object) => void) | undefined;

/** Builds nothing when no history is kept: a purchase calls it on its way. */
export const record = (
  event: EventName,
  { id: orderId, voucherId, userId, requestId }: Order,
  more?: Pick<HistoryEvent, 'checkpoint' | 'resource' | 'fence' | 'reason'>,
): void => sink?.({ event, voucherId, userId, orderId, requestId, ...more });

export const recordDeath = (pid: number): void => sink?.({ event: 'died', pid });

export const keepsHistory = (): boolean => sink !== undefined;

/** For the lab only. Every event is written at once, so that a killed process loses none. */
export function keepHistory(folder: string, instance: string): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${instance}-${process.pid}.jsonl`);
  const line = (entry: object) =>
    `${JSON.stringify({ at: String(process.hrtime.bigint()), instance, ...entry })}\n`;
  let hasGap = false;
  sink = (entry) => {
    try {
      appendFileSync(file, hasGap ? line({ event: 'gap' }) + line(entry) : line(entry));
      hasGap = false;
    } catch (error) {
      hasGap = true;
      process.emitWarning(`The history has a gap: ${error}`); // A sale must not fail because of it.
    }
  };
}

/**
 * In the lab: the purchase in this async context was refused its lock, and waits for it now. A lock
 * tells it after its last checkpoint before the wait. Nothing in production.
 */
export function tellWaiting(): void {
  const order = currentOrder();
  if (order) record('waiting', order);
}
