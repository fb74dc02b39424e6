/**
 * The epoch under which this process sells and records. Redis refuses its sales, and MySQL its
 * records, while they have another one: their data were rebuilt, or are lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const betweenQuestionsMs = 200;

export class KnownEpoch {
  readonly #ask: () => Promise<string>;
  #value = '';
  #isAsking = false;

  /** @param ask reads the epoch of MySQL. */
  constructor(ask: () => Promise<string>) {
    this.#ask = ask;
  }

  /** Empty until the process has compared the epochs of its stores: then nothing is refused. */
  get value(): string {
    return this.#value;
  }

  set(value: string): void {
    this.#value = value;
  }

  /** After a refusal. One question at a time, and the caller does not wait for it. */
  refresh(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const asked = this.#ask().then((value) => this.set(value));
    void asked
      .catch(() => {}) // MySQL is away: the next refusal asks again.
      .then(() => sleep(betweenQuestionsMs, undefined, { ref: false }))
      .then(() => {
        this.#isAsking = false;
      });
  }
}

/** For one command, which does not go on in another one. */
export const oneEpoch = (value: string): Pick<KnownEpoch, 'value' | 'refresh'> => ({
  value,
  refresh: () => {},
});
