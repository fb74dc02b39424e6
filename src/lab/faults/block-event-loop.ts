/** The event loop of an instance stands still, as in a long computation: it ends by itself. */
import { blockEventLoop } from '../environment/ask-instance.ts';
import type { Fault } from './fault.ts';

export const blockedEventLoop = (instance: string, forMs: number): Fault => ({
  name: `block ${instance} for ${forMs} ms`,
  async inject(lab) {
    await blockEventLoop(lab, instance, forMs);
    return async () => {};
  },
});
