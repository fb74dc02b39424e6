/**
 * Whether a program may write to its files. If not, a write fails as it does on a full disk: with
 * an error of the system, and in the middle of the program's work.
 */
import { execa } from 'execa';

export async function refuseFileWrites(pid: number): Promise<void> {
  await execa('prlimit', [`--pid=${pid}`, '--fsize=0:']);
}

/** As much as the program may allow itself. */
export async function allowFileWrites(pid: number): Promise<void> {
  const most = ['--fsize', '--output=HARD', '--noheadings', '--raw'];
  const { stdout } = await execa('prlimit', [`--pid=${pid}`, ...most]);
  await execa('prlimit', [`--pid=${pid}`, `--fsize=${stdout.trim()}:`]);
}
