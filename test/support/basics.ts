/** What needs no server: folders, codes of errors, logs, order ids, clocks. */
import { rmSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { expect, onTestFinished } from 'vitest';
import type { Stretch } from '../../src/service/order-ids/worker-id.ts';
import { newDataFolder } from './data-home.ts';

/** Of a test's own, and removed when it is over. */
export function someFolder(): string {
  const folder = newDataFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** For `toThrow`: an error of the service or the lab, by its code. */
export const withCode = (code: string): Error => expect.objectContaining({ code });

/** A log that says nothing. */
export const quiet = pino({ level: 'silent' });

/** A worker id without beginning or end: two makers of one process must not share it. */
export const always = (workerId: number) => (): Stretch => ({
  workerId,
  fromMs: 0,
  untilMs: Infinity,
});

export interface SetClock {
  readonly now: () => number;
  step(byMs: number): void;
}

export function setClock(startMs: number): SetClock {
  let timeMs = startMs;
  return {
    now: () => timeMs,
    step: (byMs) => {
      timeMs += byMs;
    },
  };
}

/** A log, and the events that were written to it. */
export function listeningLog(): { log: Logger; events: string[] } {
  const events: string[] = [];
  const write = (line: string) => void events.push((JSON.parse(line) as { event: string }).event);
  return { log: pino({ level: 'info' }, { write }), events };
}

/** The first id that is not above the one before it; undefined when all ascend. */
export const firstOutOfOrder = (ids: readonly string[]): string | undefined =>
  ids.find((id, index) => index > 0 && BigInt(id) <= BigInt(ids[index - 1] ?? id));
