/**
 * The disk of a Redis is full. With `appendfsync everysec` it answers the next write, which is then
 * only in memory, and refuses all others (MISCONF) until there is space. With `always` it ends at
 * the next write, because it cannot keep its promise.
 */
import type { Fault } from '../fault.ts';

export const fullDisk = (name: string): Fault => ({
  name: `fill the disk of ${name}`,
  async inject(lab) {
    await lab.fillDisk(name);
    return () => lab.clearDisk(name);
  },
});
