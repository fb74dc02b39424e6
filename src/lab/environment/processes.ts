/** Programs that the lab starts in the background, with a log file; stopped by pid, not by name. */

import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ProgramMissing } from '../errors.ts';
import { waitUntil } from './wait-until.ts';

/** One process. A pid can be used again, but pid and start time together are unique. */
export interface ProcessRef {
  readonly pid: number;
  readonly startedAt: string;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/**
 * Starts the program in a separate session. Ctrl-C then reaches only the lab's command, and that
 * stops its programs in order.
 */
export function startProcess({ command, args, env, logFile }: Program): ProcessRef {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  child.on('error', () => {}); // Without a pid the program did not start; reported below.
  child.unref();
  const ref = child.pid === undefined ? null : processRef(child.pid);
  if (!ref) throw new ProgramMissing(command);
  return ref;
}

export function processRef(pid: number): ProcessRef | null {
  const startedAt = startTime(pid);
  return startedAt === null ? null : { pid, startedAt };
}

export const isAlive = ({ pid, startedAt }: ProcessRef): boolean => startTime(pid) === startedAt;

/** Sends SIGTERM and waits; sends SIGKILL when the process has not ended in time. */
export async function stopProcess(ref: ProcessRef, withinMs = 20_000): Promise<void> {
  if (!isAlive(ref)) return;
  process.kill(ref.pid, 'SIGTERM');
  const hasEnded = () => !isAlive(ref);
  await waitUntil(`process ${ref.pid} to end`, withinMs, hasEnded).catch(async () => {
    process.kill(ref.pid, 'SIGKILL');
    await waitUntil(`process ${ref.pid} to be killed`, 5_000, hasEnded);
  });
}

/** @throws ProgramMissing */
export function programPath(name: string): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  for (const folder of folders) {
    const path = join(folder, name);
    if (isExecutable(path)) return path;
  }
  throw new ProgramMissing(name);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Field 22 of /proc/<pid>/stat; null when there is no such process, or only a zombie (state Z). */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
