/** The processes of this machine, from /proc: whether one is alive, its group, its children. */
import { readdirSync, readFileSync } from 'node:fs';

/** One process. A pid can be used again, but pid and start time together are unique. */
export interface ProcessRef {
  readonly pid: number;
  readonly startedAt: string;
}

interface Entry extends ProcessRef {
  readonly isZombie: boolean;
  readonly isPaused: boolean;
  readonly parent: number;
  readonly group: number;
}

/** Null when there is no such process, or only a zombie. */
export function processRef(pid: number): ProcessRef | null {
  const entry = entryOf(pid);
  return entry === null || entry.isZombie ? null : { pid, startedAt: entry.startedAt };
}

export const isAlive = ({ pid, startedAt }: ProcessRef): boolean =>
  processRef(pid)?.startedAt === startedAt;

/** After SIGSTOP, until SIGCONT. */
export const isPaused = ({ pid }: ProcessRef): boolean => entryOf(pid)?.isPaused ?? false;

/**
 * The target of a signal for this process and its children: its group, as a negative pid, also when
 * only children are left. A process that leads no group is alone. Null when nothing is left, or
 * when another process has the pid now.
 */
export function signalTarget({ pid, startedAt }: ProcessRef): number | null {
  const now = entryOf(pid);
  if (now && now.startedAt !== startedAt) return null;
  if (now && now.group !== pid) return now.isZombie ? null : pid;
  const isAnyAlive = entries().some(({ group, isZombie }) => group === pid && !isZombie);
  return isAnyAlive ? -pid : null;
}

/** The living children of a process, each with the value of this variable in its environment. */
export function childrenOf(parent: number, variable: string): (ProcessRef & { value: string })[] {
  return entries()
    .filter((entry) => entry.parent === parent && !entry.isZombie)
    .map(({ pid, startedAt }) => ({ pid, startedAt, value: variableOf(pid, variable) }));
}

function variableOf(pid: number, name: string): string {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return variables.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  } catch {
    return ''; // It has ended.
  }
}

const entries = (): Entry[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => entryOf(Number(name)))
    .filter((entry) => entry !== null);

/** From /proc/<pid>/stat; null when there is no such process. */
function entryOf(pid: number): Entry | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in brackets, may have spaces: the fields are counted behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, parent, group] = fields;
    const startedAt = fields[19] ?? '';
    const states = { isZombie: state === 'Z', isPaused: state === 'T' };
    return { pid, startedAt, ...states, parent: Number(parent), group: Number(group) };
  } catch {
    return null;
  }
}
