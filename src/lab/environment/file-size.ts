/**
 * Whether a program may write to its files. If not, it cannot write a byte more to any of them, its
 * log among them: the system answers EFBIG, where a full disk would answer ENOSPC.
 */
import { execa } from 'execa';
import { isAlive, type ProcessRef } from './process-table.ts';

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
