/**
 * Order ids for tests: worker ids that nobody leased, clocks that are told what to say, logs that
 * are read back.
 */
import { type Logger, pino } from 'pino';
import type { Stretch } from '../../src/service/order-ids/worker-id.ts';

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
