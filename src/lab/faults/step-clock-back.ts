/** The wall clock of an instance steps back. The monotonic clock goes on. */
import { stepClockBack } from '../environment/ask-instance.ts';
import type { Fault } from './fault.ts';

export const lateClock = (instance: string, byMs: number): Fault => ({
  name: `step the clock of ${instance} back by ${byMs} ms`,
  async inject(lab) {
    await stepClockBack(lab, instance, byMs);
    return () => stepClockBack(lab, instance, 0);
  },
});
