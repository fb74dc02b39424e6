/**
 * A name that one process of the machine can have at a time. The kernel frees it when the process
 * ends, however it ends; a file would stay, and two processes could both take it over.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns the function that frees the name; null when another process has it. */
export async function takeName(name: string): Promise<(() => void) | null> {
  // A Unix socket without a file: such addresses begin with NUL, and are short.
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 32);
  const holder = createServer().unref();
  try {
    holder.listen(`\0lockstep-${digest}`);
    await once(holder, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return null;
  }
  return () => void holder.close();
}
