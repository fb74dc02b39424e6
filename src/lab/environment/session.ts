/** One command's time with a lab: alone in it, and gone without a trace afterwards, also after Ctrl-C. */

import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Interrupted, LabBusy } from '../errors.ts';
import { defaultShape, Lab } from './lab.ts';
import { isAlive, type ProcessRef, processRef } from './processes.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export type Tell = (event: string) => void;

/**
 * Runs `work` in the lab of this folder: in the one that is up (and puts its shape back), or in one that is started
 * for it and stopped again. SIGINT and SIGTERM abort the signal; then the work is waited for, the lab is put in order,
 * and the process ends with code 130.
 * @throws LabBusy when another command is in it.
 */
export async function withLab<T>(
  folder: string,
  tell: Tell,
  work: (lab: Lab, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return alone(folder, async (signal) => {
    const standing = Lab.running(folder);
    try {
      const lab = standing ?? (await Lab.start(folder, tell, processRef(process.pid) ?? undefined));
      signal.addEventListener('abort', () => standing || lab.startNothingMore(), { once: true });
      signal.throwIfAborted();
      return await work(lab, signal);
    } finally {
      if (standing) await standing.ensure(defaultShape);
      else await Lab.stop(folder);
    }
  });
}

/** Holds the folder for this process alone while `work` runs. A holder that has died holds nothing. */
export async function alone<T>(
  folder: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const file = join(folder, 'in-use.json');
  mkdirSync(folder, { recursive: true });
  claim(file, folder);
  const interruption = new AbortController();
  const interrupt = () => {
    if (!interruption.signal.aborted) console.error('\nInterrupted: putting things in order …');
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
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(processRef(process.pid)));
  try {
    if (holder) rmSync(file, { force: true });
    linkSync(mine, file); // Whole or not at all, and only for one.
  } catch {
    throw new LabBusy(readHolder(file)?.pid ?? 0, folder); // Another process was faster.
  } finally {
    rmSync(mine, { force: true });
  }
}

function readHolder(file: string): ProcessRef | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRef;
  } catch {
    return null;
  }
}
