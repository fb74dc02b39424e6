/** The one way for a drill to inject a fault and to send a steady load: both are recorded. */
import type { Lab } from '../environment/lab.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import {
  buySteadily,
  type Purchase,
  type SteadyLoad,
  type Try,
} from '../workload/steady-purchases.ts';
import type { Recorder } from './timeline.ts';

/** The fault lasts from before its injection until its undo is done. */
export async function inject(lab: Lab, fault: Fault, recorder: Recorder): Promise<Undo> {
  recorder.faultStarted(fault.name);
  const undo = await fault.inject(lab).catch((error: unknown) => {
    recorder.faultEnded(fault.name);
    throw error;
  });
  return async () => {
    await undo();
    recorder.faultEnded(fault.name);
  };
}

/** @param name for people: what is sold, `lua-stream`. */
export async function buyRecorded(
  name: string,
  purchases: Iterable<Purchase>,
  load: SteadyLoad,
  recorder: Recorder,
): Promise<Try[]> {
  const onTry = (attempt: Try): void => {
    recorder.attempt(attempt);
    load.onTry?.(attempt);
  };
  recorder.loadStarted(name);
  try {
    return await buySteadily(purchases, { ...load, onTry });
  } finally {
    recorder.loadEnded(name);
  }
}
