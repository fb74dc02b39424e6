/** The wall clock of an instance steps back or forward. The monotonic clock goes on. */
import { setClockRight, stepClock } from '../../environment/ask-instance.ts';
import type { Fault } from '../fault.ts';

/**
 * Back by more than 5 s: the instance makes no snowflakes until the clock is right again. Forward:
 * they are of a time that has not come.
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
