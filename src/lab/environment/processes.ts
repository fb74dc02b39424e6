/**
 * Programs that the lab starts in the background, with a log file; stopped by pid, not by name. And
 * the contracts of a server: how it is started, and what a fault can do to it.
 */

import { spawn, spawnSync } from 'node:child_process';
import { accessSync, closeSync, constants, openSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { labError } from '../errors.ts';
import { isAlive, isPaused, type ProcessRef, processRef, signalTarget } from './process-table.ts';
import { waitUntil } from './wait-until.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** It goes on when it may write no more to its files. The signal SIGXFSZ would end it. */
  readonly outlivesFullDisk?: true;
}

/** How to start a server of the lab, and how to check that it answers. */
export interface Server {
  readonly name: string;
  readonly port: number;
  /** Creates its folders and files before it starts. */
  readonly prepare?: () => Promise<void>;
  readonly program: () => Program;
  /** True once it answers. */
  readonly answers: () => Promise<boolean>;
}

/** A server of the lab, or a process of the service, as a fault sees it. */
export interface LabServer {
  readonly name: string;
  /** SIGTERM; resolves when the program has ended in order. */
  stop(): Promise<void>;
  /** SIGKILL; resolves when the program has ended. */
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay open, and nothing answers. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): Promise<void>;
  /** After `stop` and `kill`: resolves when it runs again. */
  start(): Promise<void>;
}

/** @param find the process that it is now. @param ending the same, before it ends on purpose */
export const labServer = (
  name: string,
  start: () => Promise<void>,
  find: () => Promise<ProcessRef>,
  ending = find,
): LabServer => ({
  name,
  stop: async () => stopProcess(await ending()),
  kill: async () => killWithChildren(await ending()),
  pause: async () => pauseWithChildren(await find()),
  resume: async () => signalProcess(await find(), 'SIGCONT'),
  start,
});

let canBeBatchWork: boolean | undefined;

/**
 * Whether the kernel schedules the programs of the lab as batch work, which a machine may forbid. A
 * message that arrives then does not interrupt the process that sent it. With a dozen servers on a
 * few cores, each finds several messages when it wakes up, and a purchase costs less
 * (docs/benchmarks.md).
 */
export function isBatchWork(): boolean {
  canBeBatchWork ??= spawnSync('chrt', ['--batch', '0', 'true']).status === 0;
  return canBeBatchWork;
}

/** Comes before the command, and becomes it: the pid is the same. */
export const asBatchWork = (): readonly string[] => (isBatchWork() ? ['chrt', '--batch', '0'] : []);

/**
 * Starts the program in a separate session. Ctrl-C then reaches only the lab's command, and that
 * stops its programs in order.
 */
export function startProcess(program: Program): ProcessRef {
  const { command, args, env, logFile, outlivesFullDisk } = program;
  const log = openSync(logFile, 'a');
  const ignoring = outlivesFullDisk ? ['env', '--ignore-signal=XFSZ'] : [];
  const [first = command, ...rest] = [...asBatchWork(), ...ignoring, command, ...args];
  const child = spawn(first, rest, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  child.on('error', () => {}); // Without a pid nothing started; reported below.
  child.unref();
  const ref = child.pid === undefined ? null : processRef(child.pid);
  if (!ref) throw labError('PROGRAM_MISSING', command);
  return ref;
}

/**
 * Sends SIGTERM, to a paused process too, and waits until it has ended. Then, or after `withinMs`,
 * what is left of its group is killed: the workers of a killed nginx would go on answering.
 */
export async function stopProcess(ref: ProcessRef, withinMs = 20_000): Promise<void> {
  if (isAlive(ref)) {
    process.kill(ref.pid, 'SIGTERM');
    signalProcess(ref, 'SIGCONT');
    const hasEnded = () => !isAlive(ref);
    await waitUntil(`process ${ref.pid} to end`, withinMs, hasEnded).catch(() => {});
  }
  await killWithChildren(ref);
}

/** SIGKILL for the process and its children. Resolves when all of them have ended. */
export async function killWithChildren(ref: ProcessRef): Promise<void> {
  signalProcess(ref, 'SIGKILL');
  const hasEnded = () => signalTarget(ref) === null;
  await waitUntil(`process ${ref.pid} to be killed`, 5_000, hasEnded);
}

/** SIGSTOP for the process and its children. Resolves when none of its own threads runs. */
export async function pauseWithChildren(ref: ProcessRef): Promise<void> {
  signalProcess(ref, 'SIGSTOP');
  await waitUntil(
    `process ${ref.pid} to stand still`,
    5_000,
    () => isPaused(ref) || !isAlive(ref),
    1,
  );
}

/** To the whole group: a paused nginx must not go on in its worker processes. */
export function signalProcess(ref: ProcessRef, signal: NodeJS.Signals): void {
  const target = signalTarget(ref);
  if (target === null) return;
  try {
    process.kill(target, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // It has just ended.
  }
}

/** @throws PROGRAM_MISSING */
export function programPath(name: string): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  for (const folder of folders) {
    const path = join(folder, name);
    if (isExecutable(path)) return path;
  }
  throw labError('PROGRAM_MISSING', name);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
