/**
 * The session of one command in a lab. The command has the lab for itself, and afterwards the lab
 * is as it was before, also after Ctrl-C.
 */

import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labError } from '../errors.ts';
import { defaultShape, Lab, type Progress, type StartOptions } from './lab.ts';
import { takeName } from './ports.ts';
import { processRef } from './process-table.ts';
import { killWithChildren } from './processes.ts';
import { type Database, defaultDatabase } from './servers/database.ts';
import { readState } from './state.ts';
import { pageName } from './stores.ts';

export type SessionOptions = Pick<StartOptions, 'database' | 'spares'>;

/**
 * A part of the work that Ctrl-C does not wait for, when the lab ends with the command. A lab that
 * stays up must be mended by it first.
 */
export type UntilInterrupted = <T>(part: Promise<T>) => Promise<T>;

/** `signal` aborts at Ctrl-C. */
export type Work<T> = (
  lab: Lab,
  signal: AbortSignal,
  untilInterrupted: UntilInterrupted,
) => Promise<T>;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs `work` in the lab of this folder. A lab that runs already is used, and its shape is
 * restored; otherwise a lab is started and stopped again. SIGINT, SIGTERM and SIGHUP abort the
 * signal. The session then waits for the work, restores or stops the lab, and ends the process with
 * code 130.
 * @param options the database: without one, MariaDB, or that of the running lab; and the spare
 *   servers that start with the lab.
 * @throws LAB_BUSY when another command uses the lab; OTHER_DATABASE when it runs on another one;
 *   LAB_HAS_FAULT when a server that every rung needs is paused or stopped by hand.
 */
export async function withLab<T>(
  folder: string,
  progress: Progress,
  work: Work<T>,
  options: SessionOptions = {},
): Promise<T> {
  return alone(folder, async (signal) => {
    const running = runningOn(folder, options.database);
    const faulty = running?.faultInTheWay();
    if (faulty) throw labError('LAB_HAS_FAULT', faulty.name, faulty.state);
    const shape = (await running?.beginSession()) ?? defaultShape;
    const untilInterrupted: UntilInterrupted = (part) =>
      running ? part : interruptible(part, signal);
    try {
      const lab = running ?? (await startFor(folder, progress, signal, options));
      signal.throwIfAborted();
      return await work(lab, signal, untilInterrupted);
    } finally {
      if (running) await running.endSession(shape);
      else await Lab.stop(folder);
    }
  });
}

/** The running lab, if any. @throws OTHER_DATABASE when the command wants another one. */
export function runningOn(folder: string, database?: Database): Lab | null {
  const running = Lab.running(folder);
  if (running && database && running.database !== database)
    throw labError('OTHER_DATABASE', running.database);
  return running;
}

/** The database that a command has in this folder. @throws OTHER_DATABASE */
export const databaseOf = (folder: string, chosen?: Database): Database =>
  runningOn(folder, chosen)?.database ?? chosen ?? defaultDatabase;

/** Starts a lab for this process. After an interruption the lab starts no more servers. */
async function startFor(
  folder: string,
  progress: Progress,
  signal: AbortSignal,
  options: SessionOptions,
): Promise<Lab> {
  const owner = processRef(process.pid) ?? undefined;
  const lab = await Lab.start(folder, progress, { ...options, owner });
  signal.addEventListener('abort', () => lab.refuseStarts(), { once: true });
  return lab;
}

/** Runs `work` while no other process uses the folder. A dead process does not use it. */
export async function alone<T>(
  folder: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const leave = await enter(folder);
  const interruption = new AbortController();
  const interrupt = () => {
    if (!interruption.signal.aborted) console.error('\nInterrupted: cleaning up …');
    interruption.abort(labError('INTERRUPTED'));
  };
  for (const name of signals) process.on(name, interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    for (const name of signals) process.off(name, interrupt);
    leave();
    if (interruption.signal.aborted) process.exit(130);
  }
}

const userFile = (folder: string): string => join(folder, 'in-use-by');
const userOf = (folder: string): string =>
  existsSync(userFile(folder)) ? readFileSync(userFile(folder), 'utf8') : '?';

/** For people: `4711 (lockstep run row-lock)`. */
function userText(folder: string): string {
  const pid = userOf(folder);
  const file = `/proc/${pid}/cmdline`;
  const words = existsSync(file) ? readFileSync(file, 'utf8').split('\0') : [];
  const own = words.findIndex((word) => /lockstep\.m?js$/.test(word));
  const isPage = words.some((word) => word.endsWith('/page/server/main.js'));
  if (isPage) return `${pid} (the page: press "Give the lab back" there)`;
  if (own < 0) return pid;
  const command = words.slice(own + 1).join(' ');
  return `${pid} (lockstep ${command.trim()})`;
}

/**
 * The page has the lab while somebody plays. So the command that ends the lab ends that page first;
 * what it has left as it is then, ends with the lab.
 */
export async function endPlays(folder: string): Promise<void> {
  const page = readState(folder)?.running.find(({ name }) => name === pageName);
  if (page && userOf(folder) === String(page.pid)) await killWithChildren(page);
}

/** @throws LAB_BUSY */
async function enter(folder: string): Promise<() => void> {
  mkdirSync(folder, { recursive: true });
  const file = userFile(folder);
  const freeName = await takeName(realpathSync(folder));
  if (!freeName) throw labError('LAB_BUSY', userText(folder), folder);
  writeFileSync(file, String(process.pid)); // For people: the name itself does not say it.
  return () => {
    rmSync(file, { force: true });
    freeName();
  };
}

/**
 * Work that a command does not wait for after Ctrl-C, because its lab ends anyway.
 * @returns the result of `work`; rejects with the reason of the signal as soon as it aborts. What
 *   goes on then is not waited for.
 */
export async function interruptible<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = new AbortController();
  try {
    return await Promise.race([work, interruption(signal, ended.signal)]);
  } finally {
    ended.abort();
    work.catch(() => {}); // Nobody hears of its errors any more.
  }
}

async function interruption(signal: AbortSignal, ended: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort', { signal: ended });
  throw signal.reason;
}
