/** The events of one viewer, numbered: a page that comes back says the last number that it has. */
import type { StageEvent } from '../../stage/events.ts';

const kept = 20_000;

export class Feed {
  readonly #events: StageEvent[] = [];
  readonly #wakes = new Set<() => void>();
  #last = 0;

  push(event: StageEvent): void {
    this.#last += 1;
    this.#events.push({ ...event, number: this.#last });
    if (this.#events.length > 2 * kept) this.#events.splice(0, kept);
    for (const wake of this.#wakes) wake();
  }

  /** @returns those behind this number; null when some of them are gone */
  after(number: number): readonly StageEvent[] | null {
    const first = this.#last - this.#events.length + 1;
    if (number > this.#last || number + 1 < first) return null;
    return this.#events.slice(number + 1 - first);
  }

  get last(): number {
    return this.#last;
  }

  /** @returns what ends it */
  listen(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }
}
