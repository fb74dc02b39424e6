/** The processes of this machine, from /proc: whether one is alive, its group, its children. */
import { readdirSync, readFileSync } from 'node:fs';

/** One process. A pid can be used again, but pid and start time together are unique. */
export interface ProcessRef {
  readonly pid: number;
  readonly startedAt: string;
}

interface Entry extends ProcessRef {
  readonly isZombie: boolean;
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

/** After SIGSTOP, until SIGCONT. The kernel stops the threads of a process one after the other. */
export function isPaused({ pid }: Pick<ProcessRef, 'pid'>): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.every((thread) => stateOf(`/proc/${pid}/task/${thread}/stat`) === 'T');
  } catch {
    return false; // It has ended.
  }
}

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

/** The living children of a process. */
export const childrenOf = (parent: number): ProcessRef[] =>
  entries()
    .filter((entry) => entry.parent === parent && !entry.isZombie)
    .map(({ pid, startedAt }) => ({ pid, startedAt }));

/** Each with the value of this variable in its environment. */
export const childrenWith = (
  variable: string,
  parent: number,
): (ProcessRef & { value: string })[] =>
  childrenOf(parent).map((child) => ({ ...child, value: variableOf(child.pid, variable) }));

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

/** The first thread of a killed program may end before the others, which keep its ports. */
const hasThreads = (pid: number): boolean => readdirSync(`/proc/${pid}/task`).length > 1;

/** From /proc/<pid>/stat; null when there is no such process. */
function entryOf(pid: number): Entry | null {
  try {
    const fields = statFields(`/proc/${pid}/stat`);
    const [state, parent, group] = fields;
    const startedAt = fields[19] ?? '';
    const isZombie = state === 'Z' && !hasThreads(pid);
    return { pid, startedAt, isZombie, parent: Number(parent), group: Number(group) };
  } catch {
    return null;
  }
}

const stateOf = (file: string): string | undefined => statFields(file)[0];

/**
 * Of a process or thread. The name of the program, in brackets, may have spaces: the fields are
 * counted behind it.
 */
export function statFields(file: string): string[] {
  const stat = readFileSync(file, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
