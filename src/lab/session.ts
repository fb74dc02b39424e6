/** One command's time with a lab: alone in it, and gone without a trace afterwards, also after Ctrl-C. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LabBusy } from '../errors.ts';
import { defaultShape, Lab } from './lab.ts';
import { isAlive, type ProcessRef, processRef } from './processes.ts';

export type Tell = (event: string) => void;

/**
 * Runs `work` in the lab of this folder: in the one that is up (and puts its shape back), or in one that is started
 * for it and stopped again. SIGINT and SIGTERM end the work, then the lab, then the process with code 130.
 * @throws LabBusy when another command is in it.
 */
export async function withLab<T>(folder: string, tell: Tell, work: (lab: Lab) => Promise<T>): Promise<T> {
  return alone(folder, async (interrupted) => {
    const standing = Lab.running(folder);
    try {
      const lab = standing ?? (await Lab.start(folder, tell));
      return await Promise.race([work(lab), interrupted]);
    } finally {
      if (standing) await standing.ensure(defaultShape);
      else await Lab.stop(folder);
    }
  });
}

/** Holds the folder for this process alone while `work` runs. A holder that has died holds nothing. */
export async function alone<T>(
  folder: string,
  work: (interrupted: Promise<never>) => Promise<T>,
): Promise<T> {
  const file = join(folder, 'in-use.json');
  mkdirSync(folder, { recursive: true });
  claim(file, folder);
  const interruption = interruptible();
  try {
    return await work(interruption.interrupted);
  } finally {
    interruption.forget();
    rmSync(file, { force: true });
    if (interruption.happened()) process.exit(130);
  }
}

function claim(file: string, folder: string): void {
  const holder = readHolder(file);
  if (holder && isAlive(holder)) throw new LabBusy(holder.pid, folder);
  rmSync(file, { force: true });
  try {
    writeFileSync(file, JSON.stringify(processRef(process.pid)), { flag: 'wx' });
  } catch {
    throw new LabBusy(readHolder(file)?.pid ?? 0, folder); // Another process was faster.
  }
}

function readHolder(file: string): ProcessRef | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRef;
  } catch {
    return null;
  }
}

function interruptible() {
  let happened = false;
  let interrupt: (() => void) | undefined;
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = () => {
      happened = true;
      console.error('\nInterrupted: stopping what was started …');
      reject(new Error('interrupted'));
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  });
  interrupted.catch(() => {}); // Whoever still waits for it hears of it; nobody has to.
  const forget = () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) if (interrupt) process.off(signal, interrupt);
  };
  return { interrupted, forget, happened: () => happened };
}
