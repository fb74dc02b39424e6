/**
 * The CPU time of a process, from the kernel's accounting in /proc. It is the cost of a request,
 * and it moves less than requests per second when other work shares the machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { statFields } from '../environment/process-table.ts';

/** Microseconds since the process started. */
export interface CpuReading {
  readonly startedAt: string;
  /** Of all its threads, also of those that ended; in ticks. */
  readonly inTicks: number;
  /** Of the threads that live, exactly. Null when the kernel does not count it. */
  readonly byThreads: number | null;
  /** Of the children that ended, and that the process waited for; in ticks. */
  readonly ofChildren: number;
}

/** The unit of /proc/<pid>/stat, on every Linux: USER_HZ is 100. */
const tickMicroseconds = 10_000;
/** Two counters, each rounded down at both ends of a period. */
const roundingMax = 2 * tickMicroseconds;

/** Null when there is no such process, or only a zombie. */
export function readCpu(pid: number): CpuReading | null {
  try {
    const fields = statFields(`/proc/${pid}/stat`);
    if (fields[0] === 'Z') return null;
    const ticks = (index: number) => Number(fields[index]) * tickMicroseconds;
    return {
      startedAt: fields[19] ?? '',
      inTicks: ticks(11) + ticks(12),
      byThreads: timeOfThreads(pid),
      ofChildren: ticks(13) + ticks(14),
    };
  } catch {
    return null;
  }
}

/** From schedstat, in nanoseconds: a kernel without it has ticks only. */
function timeOfThreads(pid: number): number | null {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) => timeOfThread(`/proc/${pid}/task/${thread}/schedstat`));
  const known = times.filter((time) => time !== null);
  if (known.length === 0) return null;
  return known.reduce((sum, time) => sum + time, 0);
}

function timeOfThread(file: string): number | null {
  try {
    const [nanoseconds] = readFileSync(file, 'utf8').split(' ');
    return Number(nanoseconds) / 1_000;
  } catch {
    return null; // It has just ended.
  }
}

/**
 * The CPU time between two readings, with that of the children that ended in between. Null when the
 * process vanished, or when another process has its pid now.
 */
export function cpuBetween(before: CpuReading | null, after: CpuReading | null): number | null {
  if (!before || !after || before.startedAt !== after.startedAt) return null;
  const coarse = after.inTicks - before.inTicks;
  const exact =
    after.byThreads === null || before.byThreads === null
      ? coarse
      : after.byThreads - before.byThreads;
  // A thread that ended took its exact time with it. Then the ticks count.
  const own = Math.abs(coarse - exact) <= roundingMax ? exact : coarse;
  return own + after.ofChildren - before.ofChildren;
}
