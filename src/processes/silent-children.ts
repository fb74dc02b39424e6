/**
 * A child that stands still keeps its connections, so its buyers wait, and it cannot look at
 * itself. Each child tells the primary that it runs; the primary kills one that says nothing.
 */
import type { Worker } from 'node:cluster';
import type { Logger } from 'pino';

const tellEveryMs = 500;

/** Of a child. A process that is nobody's child tells nobody. */
export function tellPrimary(): void {
  const tell = () => process.send?.('runs', undefined, undefined, () => {});
  setInterval(tell, tellEveryMs).unref();
  tell();
}

export class SilentChildren {
  readonly #mostMs: number;
  readonly #log: Logger;
  /** How long each child has been silent, in milliseconds. */
  readonly #silentMs = new Map<Worker, number>();

  constructor(mostMs: number, log: Logger) {
    this.#mostMs = mostMs;
    this.#log = log;
  }

  /** From its first message on: until then it starts. */
  listenTo(child: Worker): void {
    child.on('message', () => this.#silentMs.set(child, 0));
    child.once('exit', () => this.#silentMs.delete(child));
  }

  /**
   * A look counts a quarter at most, because what the children said may not be read yet.
   * @param sinceMs the time since the last look
   */
  readonly look = async (sinceMs: number): Promise<null> => {
    for (const [child, beforeMs] of this.#silentMs) {
      const silentMs = beforeMs + Math.min(sinceMs, this.#mostMs / 4);
      this.#silentMs.set(child, silentMs);
      if (silentMs < this.#mostMs) continue;
      this.#log.error({ event: 'child-silent', pid: child.process.pid, silentMs });
      child.process.kill('SIGKILL');
    }
    return null;
  };
}
