/**
 * The session of one command in a lab. The command has the lab for itself, and afterwards the lab
 * is as it was before, also after Ctrl-C.
 */

import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interrupted, LabBusy, OtherDatabase } from '../errors.ts';
import { defaultShape, Lab, type Progress } from './lab.ts';
import { isAlive, type ProcessRef, processRef } from './processes.ts';
import type { Database } from './servers/database.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` in the lab of this folder. A lab that runs already is used, and its default shape is
 * restored; otherwise a lab is started and stopped again. SIGINT, SIGTERM and SIGHUP abort the
 * signal. The session then waits for the work, restores or stops the lab, and ends the process with
 * code 130.
 * @param database MariaDB without it, or that of the running lab.
 * @throws LabBusy when another command uses the lab; OtherDatabase when it runs on another one.
 */
export async function withLab<T>(
  folder: string,
  progress: Progress,
  work: (lab: Lab, signal: AbortSignal) => Promise<T>,
  database?: Database,
): Promise<T> {
  return alone(folder, async (signal) => {
    const running = Lab.running(folder);
    if (running && database && running.database !== database)
      throw new OtherDatabase(running.database);
    try {
      const lab = running ?? (await startFor(folder, progress, signal, database));
      signal.throwIfAborted();
      return await work(lab, signal);
    } finally {
      if (running) await running.ensure(defaultShape);
      else await Lab.stop(folder);
    }
  });
}

/** Starts a lab for this process. After an interruption the lab starts no more servers. */
async function startFor(
  folder: string,
  progress: Progress,
  signal: AbortSignal,
  database?: Database,
): Promise<Lab> {
  const owner = processRef(process.pid) ?? undefined;
  const lab = await Lab.start(folder, progress, { database, owner });
  signal.addEventListener('abort', () => lab.refuseStarts(), { once: true });
  return lab;
}

/** Runs `work` while no other process uses the folder. A holder that has died does not count. */
export async function alone<T>(
  folder: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const file = join(folder, 'in-use.json');
  mkdirSync(folder, { recursive: true });
  claim(file, folder);
  const interruption = new AbortController();
  const interrupt = () => {
    if (!interruption.signal.aborted) console.error('\nInterrupted: cleaning up …');
    interruption.abort(new Interrupted());
  };
  for (const name of signals) process.on(name, interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    for (const name of signals) process.off(name, interrupt);
    rmSync(file, { force: true });
    if (interruption.signal.aborted) process.exit(130);
  }
}

function claim(file: string, folder: string): void {
  const holder = readHolder(file);
  if (holder && isAlive(holder)) throw new LabBusy(holder.pid, folder);
  const ownFile = `${file}.${process.pid}`;
  writeFileSync(ownFile, JSON.stringify(processRef(process.pid)));
  try {
    if (holder) rmSync(file, { force: true });
    linkSync(ownFile, file); // One step, and it succeeds for one process only.
  } catch {
    throw new LabBusy(readHolder(file)?.pid ?? 0, folder); // Another process was faster.
  } finally {
    rmSync(ownFile, { force: true });
  }
}

function readHolder(file: string): ProcessRef | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRef;
  } catch {
    return null;
  }
}
