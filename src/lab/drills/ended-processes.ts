/** The processes of the service that ended and were replaced, from the log of its primary. */
import { readFileSync } from 'node:fs';
import type { Lab } from '../environment/lab.ts';

/** @returns their exit codes, in order; null for a signal. */
export function endedProcesses(lab: Pick<Lab, 'logFile'>): (number | null)[] {
  const lines = readFileSync(lab.logFile('service'), 'utf8').split('\n');
  return lines
    .filter((line) => line.startsWith('{') && line.includes('"child-exited"'))
    .map((line) => (JSON.parse(line) as { readonly code: number | null }).code);
}
