/** The processes of this service, which its primary starts again when they end. */
import { Counter } from '@prometheus-io/client';
import { registers } from './registry.ts';

const restarts = new Counter({
  name: 'lockstep_process_restarts_total',
  help: 'Processes that ended while the service ran, and were started again, by their program',
  registers,
  labelNames: ['program'],
});

/** From 0 on: an increase is seen only of a figure that was there before. */
export function countRestartsOf(programs: readonly string[]): void {
  for (const program of programs) restarts.inc({ program }, 0);
}

export const countRestart = (program: string): void => restarts.inc({ program });
