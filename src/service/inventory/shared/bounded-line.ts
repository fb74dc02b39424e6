/**
 * Limits how many run at once. The others wait in a line that is bounded in length and in time: a
 * pool of connections by itself lets its callers wait for ever.
 */
import { serviceError } from '../../errors.ts';

export interface LineLimits {
  readonly connections: number;
  readonly waitingMax: number;
  readonly waitMs: number;
}

/** @throws CONNECTIONS_BUSY, and the work has not begun. */
export type InLine = <T>(work: () => Promise<T>) => Promise<T>;

export function boundedLine({ connections, waitingMax, waitMs }: LineLimits): InLine {
  const line = new Set<() => void>();
  let free = connections;

  /** Resolves when it is this caller's turn. */
  const turn = () =>
    new Promise<void>((resolve, reject) => {
      if (line.size >= waitingMax)
        return reject(
          serviceError('CONNECTIONS_BUSY', connections, `${waitingMax} sales wait already`),
        );
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        line.delete(begin);
        reject(serviceError('CONNECTIONS_BUSY', connections, `none was free within ${waitMs} ms`));
      }, waitMs);
      line.add(begin);
    });

  /** The first in the line gets this turn. */
  function pass(): void {
    const [next] = line;
    if (!next) {
      free += 1;
      return;
    }
    line.delete(next);
    next();
  }

  return async (work) => {
    if (free > 0) free -= 1;
    else await turn();
    try {
      return await work();
    } finally {
      pass();
    }
  };
}
