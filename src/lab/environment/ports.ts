/** Loopback ports: the preferred port, or the next free one. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Searches upwards for free ports in a row that are not `taken`. @returns the first of `count` */
export async function freePorts(
  preferred: number,
  count = 1,
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  for (let first = preferred; first < preferred + 2_000; first++) {
    const row = Array.from(
      { length: count },
      (_, index) => !taken.has(first + index) && isFree(first + index),
    );
    if ((await Promise.all(row)).every(Boolean)) return first;
  }
  throw new Error(`no ${count} free loopback ports from ${preferred} on`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ host: '127.0.0.1', port, exclusive: true });
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
