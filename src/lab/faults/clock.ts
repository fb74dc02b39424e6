/**
 * Faults of the time inside an instance: its event loop stands still, or its wall clock is wrong.
 */
import { blockEventLoop, isSilent, setClockRight, stepClock } from '../environment/ask-instance.ts';
import type { Fault, FaultRow, WatchedFault } from './fault.ts';

/** The event loop of an instance stands still, as in a long computation: it ends by itself. */
export const blockedEventLoop = (instance: string, forMs: number): WatchedFault => ({
  name: `block ${instance} for ${forMs} ms`,
  watch: (lab) => () => isSilent(lab, instance),
  async inject(lab) {
    await blockEventLoop(lab, instance, forMs);
    return async () => {};
  },
});

/**
 * The wall clock of an instance steps back or forward. The monotonic clock goes on. Back by more
 * than 5 s: the instance makes no snowflakes until the clock is right again. Forward: they are of a
 * time that has not come.
 * @param byMs forward; back, when it is negative
 */
export const steppedClock = (instance: string, byMs: number): Fault => ({
  name: `step the clock of ${instance} ${byMs < 0 ? 'back' : 'forward'} by ${Math.abs(byMs)} ms`,
  async inject(lab) {
    await stepClock(lab, instance, byMs);
    return async () => {
      await setClockRight(lab, instance);
      await lab.ensure(lab.shape);
    };
  },
});

export const clockFaults = {
  'block-event-loop': {
    hits: 'instance',
    done: { en: 'does nothing', zh: '什么也不做' },
    on: blockedEventLoop,
  },
  'step-clock-back': {
    hits: 'instance',
    done: { en: 'has a wall clock that is behind', zh: '系统时钟变慢了' },
    on: (name, ms) => steppedClock(name, -ms),
  },
  'step-clock-forward': {
    hits: 'instance',
    done: { en: 'has a wall clock that is ahead', zh: '系统时钟变快了' },
    on: steppedClock,
  },
} as const satisfies Record<string, FaultRow>;
