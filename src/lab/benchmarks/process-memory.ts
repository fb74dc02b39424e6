/** The memory of processes, from /proc. */
import { readFileSync } from 'node:fs';

/** Megabytes that are in RAM, of all together. Null when one has ended. */
export function memoryOf(pids: readonly number[]): number | null {
  try {
    return pids.reduce((sum, pid) => sum + residentMb(pid), 0);
  } catch {
    return null;
  }
}

function residentMb(pid: number): number {
  const [, kilobytes] =
    /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}
