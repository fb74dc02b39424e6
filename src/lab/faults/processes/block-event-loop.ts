/** The event loop of an instance stands still, as in a long computation: it ends by itself. */
import { blockEventLoop, isSilent } from '../../environment/ask-instance.ts';
import type { WatchedFault } from '../fault.ts';

export const blockedEventLoop = (instance: string, forMs: number): WatchedFault => ({
  name: `block ${instance} for ${forMs} ms`,
  watch: (lab) => () => isSilent(lab, instance),
  async inject(lab) {
    await blockEventLoop(lab, instance, forMs);
    return async () => {};
  },
});
