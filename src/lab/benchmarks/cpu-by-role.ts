/**
 * The CPU time of the lab's processes over a period, by what they do for a request, and the share
 * that other work of the machine had. It is from the kernel's accounting in /proc: the cost of a
 * request, which moves less than requests per second when other work shares the machine.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Lab } from '../environment/lab.ts';
import { childrenWith, statFields } from '../environment/process-table.ts';
import { sum } from '../stage/counts.ts';

export const cpuRoles = ['nginx', 'api', 'redis', 'worker', 'database', 'others', 'load'] as const;
export type CpuRole = (typeof cpuRoles)[number];

/** Without the load generator, which a customer's own machine pays for. */
export const serverRoles = cpuRoles.filter((role) => role !== 'load');

export interface RoleProcess {
  readonly role: CpuRole;
  readonly pid: number;
}

/** Microseconds. Null is unknown: a process of the role ended or started during the period. */
export type CpuByRole = Readonly<Record<CpuRole, number | null>>;

export const byRole = <Value>(of: (role: CpuRole) => Value): Record<CpuRole, Value> =>
  Object.fromEntries(cpuRoles.map((role) => [role, of(role)])) as Record<CpuRole, Value>;

type Readings = ReadonlyMap<number, CpuReading | null>;

/** Begins a period. @returns its end, which gives the CPU time of each role. */
export function beginCpuPeriod(processes: () => readonly RoleProcess[]): () => CpuByRole {
  const read = () => {
    const all = processes();
    return byRole((role) => readingsOf(all.filter((each) => each.role === role)));
  };
  const before = read();
  return () => {
    const after = read();
    return byRole((role) => timeBetween(before[role], after[role]));
  };
}

/** The same, with the share of the machine that other work had: beside it, figures are worse. */
export function beginPeriod(processes: () => readonly RoleProcess[]) {
  const endCpuPeriod = beginCpuPeriod(processes);
  const before = machineTime();
  return () => {
    const time = endCpuPeriod();
    return { time, otherWork: otherShare(before, machineTime(), time) };
  };
}

const readingsOf = (processes: readonly RoleProcess[]): Readings =>
  new Map(processes.map(({ pid }) => [pid, readCpu(pid)]));

function timeBetween(before: Readings, after: Readings): number | null {
  const pids = [...new Set([...before.keys(), ...after.keys()])];
  return sumOfKnown(pids.map((pid) => cpuBetween(before.get(pid) ?? null, after.get(pid) ?? null)));
}

/** Null as soon as one of them is unknown. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? sum(known) : null;
}

export const sumOfServers = (cpu: CpuByRole): number | null =>
  sumOfKnown(serverRoles.map((role) => cpu[role]));

/** The CPU time of one request; null when there was no request. */
export function cpuPerRequest(cpu: CpuByRole, requests: number): CpuByRole {
  const each = (time: number | null) => (time === null || requests === 0 ? null : time / requests);
  return byRole((role) => each(cpu[role]));
}

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
  return known.length === 0 ? null : sum(known);
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

/** Of all cores together, in ticks since the machine started. */
interface MachineTime {
  readonly busy: number;
  readonly all: number;
}

/** The first line of /proc/stat. Time that the host took from this machine counts as busy. */
export function machineTime(stat = readFileSync('/proc/stat', 'utf8')): MachineTime {
  const [first = ''] = stat.split('\n');
  const times = first.split(/ +/).slice(1, 9).map(Number); // Later ones are in these already.
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, ...interruptsAndHost] = times;
  const busy = sum([user, nice, system, ...interruptsAndHost]);
  return { busy, all: busy + idle + wait };
}

/** From 0 to 1, or null when the time of a role is unknown. @param ours microseconds */
export function otherShare(
  before: MachineTime,
  after: MachineTime,
  ours: CpuByRole,
): number | null {
  const all = (after.all - before.all) * tickMicroseconds;
  const busy = (after.busy - before.busy) * tickMicroseconds;
  const own = sumOfKnown(Object.values(ours));
  return own === null || all <= 0 ? null : Math.max(0, (busy - own) / all);
}

/** The servers of the lab; those that are not here are `others`. */
const roles: Readonly<Record<string, CpuRole>> = {
  nginx: 'nginx',
  'redis-main': 'redis',
  mariadb: 'database',
  mysql: 'database',
};

/** Those whose children answer requests. A child of Redis counts when it has ended. */
const withChildren: Readonly<Record<string, (instance: string) => CpuRole>> = {
  nginx: () => 'nginx',
  service: (instance) => (/-worker-\d+$/.test(instance) ? 'worker' : 'api'),
};

/** By their role. The load generators of a lab are the children of this process. */
export function labProcesses(lab: Lab): RoleProcess[] {
  const processes: RoleProcess[] = [{ role: 'load', pid: process.pid }];
  for (const { name, pid } of lab.servers) {
    processes.push({ role: roles[name] ?? 'others', pid });
    const roleOf = withChildren[name];
    if (!roleOf) continue;
    for (const child of childrenWith('INSTANCE', pid))
      processes.push({ role: roleOf(child.value), pid: child.pid });
  }
  return processes;
}
