/**
 * The share of the machine that other work had during a period. Figures that were measured beside
 * other work are worse than on a quiet machine: it fills the caches, too.
 */
import { readFileSync } from 'node:fs';
import type { CpuByRole } from './cpu-by-role.ts';

/** Of all cores together, in ticks since the machine started. */
export interface MachineTime {
  readonly busy: number;
  readonly all: number;
}

const tickMicroseconds = 10_000;

/** The first line of /proc/stat. Time that the host took from this machine counts as busy. */
export function machineTime(stat = readFileSync('/proc/stat', 'utf8')): MachineTime {
  const [first = ''] = stat.split('\n');
  const times = first.split(/ +/).slice(1, 9).map(Number); // Later ones are in these already.
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...interruptsAndHost] = times;
  const busy = [user, nice, system, ...interruptsAndHost].reduce((sum, time) => sum + time, 0);
  return { busy, all: busy + idle + wait };
}

/** From 0 to 1, or null when the time of a role is unknown. @param ours microseconds */
export function otherShare(
  before: MachineTime,
  after: MachineTime,
  ours: CpuByRole,
): number | null {
  const all = (after.all - before.all) * tickMicroseconds;
  let rest = (after.busy - before.busy) * tickMicroseconds;
  for (const time of Object.values(ours)) {
    if (time === null) return null;
    rest -= time;
  }
  return all > 0 ? Math.max(0, rest / all) : null;
}
