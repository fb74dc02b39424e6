/** The CPU time of the lab's processes over a period, by what they do for a request. */
import { type CpuReading, cpuBetween, readCpu } from './process-cpu.ts';

export const cpuRoles = ['nginx', 'api', 'redis', 'worker', 'database', 'others', 'load'] as const;
export type CpuRole = (typeof cpuRoles)[number];

export interface RoleProcess {
  readonly role: CpuRole;
  readonly pid: number;
}

/** Microseconds. Null is unknown: a process of the role ended or started during the period. */
export type CpuByRole = Readonly<Record<CpuRole, number | null>>;

type Readings = ReadonlyMap<number, CpuReading | null>;

/** Begins a period. @returns its end, which gives the CPU time of each role. */
export function beginCpuPeriod(processes: () => readonly RoleProcess[]): () => CpuByRole {
  const read = () => {
    const all = processes();
    return cpuRoles.map((role) => readingsOf(all.filter((each) => each.role === role)));
  };
  const before = read();
  return () => {
    const after = read();
    const times = cpuRoles.map((role, index) => [role, sum(before[index], after[index])]);
    return Object.fromEntries(times) as CpuByRole;
  };
}

const readingsOf = (processes: readonly RoleProcess[]): Readings =>
  new Map(processes.map(({ pid }) => [pid, readCpu(pid)]));

function sum(before: Readings = new Map(), after: Readings = new Map()): number | null {
  let microseconds = 0;
  for (const pid of new Set([...before.keys(), ...after.keys()])) {
    const time = cpuBetween(before.get(pid) ?? null, after.get(pid) ?? null);
    if (time === null) return null;
    microseconds += time;
  }
  return microseconds;
}

/** Without the load generator, which a customer's own machine pays for. */
export function sumOfServers(cpu: CpuByRole): number | null {
  let sum = 0;
  for (const role of cpuRoles.filter((each) => each !== 'load')) {
    const time = cpu[role];
    if (time === null) return null;
    sum += time;
  }
  return sum;
}

/** The CPU time of one request; null when there was no request. */
export function cpuPerRequest(cpu: CpuByRole, requests: number): CpuByRole {
  const each = (time: number | null) => (time === null || requests === 0 ? null : time / requests);
  return Object.fromEntries(cpuRoles.map((role) => [role, each(cpu[role])])) as CpuByRole;
}
