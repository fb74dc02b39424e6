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

/**
 * Looks of the primary, and not its time: after it stood still itself, what the children said
 * meanwhile is read between two looks. There are four in PROGRESS_WITHIN_MS.
 */
const looksMax = 4;

export class SilentChildren {
  readonly #log: Logger;
  /** The looks since each child was heard. */
  readonly #looks = new Map<Worker, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** From its first message on: until then it starts. */
  listenTo(child: Worker): void {
    child.on('message', () => this.#looks.set(child, 0));
    child.once('exit', () => this.#looks.delete(child));
  }

  readonly look = async (): Promise<null> => {
    for (const [child, before] of this.#looks) {
      const looks = before + 1;
      this.#looks.set(child, looks);
      if (looks < looksMax) continue;
      this.#log.error({ event: 'child-silent', pid: child.process.pid });
      child.process.kill('SIGKILL');
    }
    return null;
  };
}
