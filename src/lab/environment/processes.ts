/** Programs that the lab starts: in the background, with a log file, ended by pid and never by name. */

import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ProgramMissing } from '../errors.ts';
import { waitUntil } from './wait-until.ts';

/** A pid alone may be somebody else's by now; with the time it started, it is this process or none. */
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

/** Started in a session of its own, so that Ctrl-C reaches only the lab, which then stops it in order. */
export function startProcess({ command, args, env, logFile }: Program): ProcessRef {
  const log = openSync(logFile, 'a');
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...env },
  });
  closeSync(log);
  child.on('error', () => {}); // A program that could not start has no pid, and that is reported below.
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

/** Asks it to end, waits, and kills it when it does not. */
export async function stopProcess(ref: ProcessRef, withinMs = 20_000): Promise<void> {
  if (!isAlive(ref)) return;
  process.kill(ref.pid, 'SIGTERM');
  const gone = () => !isAlive(ref);
  await waitUntil(`process ${ref.pid} to end`, withinMs, gone).catch(async () => {
    process.kill(ref.pid, 'SIGKILL');
    await waitUntil(`process ${ref.pid} to be killed`, 5_000, gone);
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

/** Field 22 of /proc/<pid>/stat; null when there is no such process, or only what is left of one (state Z). */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
