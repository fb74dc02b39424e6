/**
 * A server's files: its data, put aside while the server runs without it; and whether it may write.
 */
import { cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { isAlive, type ProcessRef } from './process-table.ts';

const suffix = '.kept';
const kept = (folder: string): string => folder + suffix;

/** Moves the data aside: the server starts empty. A second time, the first data stays aside. */
export function putAside(folder: string): void {
  if (isKept(folder)) rmSync(folder, { recursive: true });
  else renameSync(folder, kept(folder));
}

/** Keeps a copy, and leaves the server its data. */
export function keepCopy(folder: string): void {
  if (isKept(folder)) return;
  const incomplete = `${folder}.copy`; // Renamed later, so that nothing restores half a copy.
  rmSync(incomplete, { recursive: true, force: true });
  cpSync(folder, incomplete, { recursive: true });
  renameSync(incomplete, kept(folder));
}

export const isKept = (folder: string): boolean => existsSync(kept(folder));

/** Gives the data back that was put aside. The server must not run. */
export function giveBack(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  renameSync(kept(folder), folder);
}

/** The server has newer data that are right: nothing will be given back. */
export const forgetKept = (folder: string): void =>
  rmSync(kept(folder), { recursive: true, force: true });

/** The same for every server of this lab, after the last one has ended. */
export function giveAllBack(labFolder: string): void {
  if (!existsSync(labFolder)) return;
  for (const name of readdirSync(labFolder).filter((each) => each.endsWith(suffix)))
    giveBack(join(labFolder, name.slice(0, -suffix.length)));
}

/**
 * The program cannot write a byte more to any of its files, its log among them: the system answers
 * EFBIG, where a full disk would answer ENOSPC.
 */
export async function refuseFileWrites(pid: number): Promise<void> {
  await execa('prlimit', [`--pid=${pid}`, '--fsize=0:']);
}

/** As much as it may allow itself. One that ends meanwhile needs nothing. */
export async function giveDiskBack(program: ProcessRef): Promise<void> {
  const fsize = (...more: string[]) => execa('prlimit', [`--pid=${program.pid}`, ...more]);
  if (!isAlive(program)) return;
  try {
    const { stdout } = await fsize('--fsize', '--output=HARD', '--noheadings', '--raw');
    await fsize(`--fsize=${stdout.trim()}:`);
  } catch (error) {
    if (isAlive(program)) throw error;
  }
}
