/**
 * How large a file a program may write. With no size left, each write of a file fails, as on a disk
 * that is full. The program must ignore SIGXFSZ, the signal that would end it.
 */
import { execa } from 'execa';

const setLimit = async (pid: number, limit: string): Promise<void> => {
  await execa('prlimit', [`--pid=${pid}`, `--fsize=${limit}:`]);
};

export const allowNoFiles = (pid: number): Promise<void> => setLimit(pid, '1');
export const allowFiles = (pid: number): Promise<void> => setLimit(pid, 'unlimited');

/** A command that ignores the signal, then becomes this one: the pid is the same. */
export const ignoresFileSize = (command: string, args: readonly string[]) => ({
  command: 'env',
  args: ['--ignore-signal=XFSZ', command, ...args],
});
