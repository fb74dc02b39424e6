/** Loopback ports: the preferred one, or the next that is free. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The first of `count` ports in a row that nobody listens on and that are not `taken`, looking upwards. */
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
