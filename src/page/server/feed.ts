/** The events of one viewer, numbered: a page that comes back says the last number that it has. */
import { randomUUID } from 'node:crypto';
import type { StageEvent } from '../../lab/stage/events.ts';

const kept = 20_000;

/** A page that comes back after a restart of the server has the number of another feed. */
export interface FeedPlace {
  readonly feed: string;
  readonly last: number;
}

export class Feed {
  readonly #id = randomUUID();
  readonly #events: StageEvent[] = [];
  readonly #wakes = new Set<() => void>();
  #last = 0;

  push(event: StageEvent): void {
    this.#last += 1;
    this.#events.push({ ...event, number: this.#last });
    if (this.#events.length > 2 * kept) this.#events.splice(0, kept);
    this.wake();
  }

  /** Its readers look again, also for what is no event. */
  wake(): void {
    for (const wake of this.#wakes) wake();
  }

  /** @returns those behind this place; null when some of them are gone, or it is of another feed */
  after({ feed, last: number }: FeedPlace): readonly StageEvent[] | null {
    if (feed !== this.#id) return null;
    const first = this.#last - this.#events.length + 1;
    if (number > this.#last || number + 1 < first) return null;
    return this.#events.slice(number + 1 - first);
  }

  /** Behind its last event. */
  get place(): FeedPlace {
    return { feed: this.#id, last: this.#last };
  }

  /** A page that is closed, or hidden, reads nothing. */
  get isRead(): boolean {
    return this.#wakes.size > 0;
  }

  /** @returns what ends it */
  listen(wake: () => void): () => void {
    this.#wakes.add(wake);
    return () => this.#wakes.delete(wake);
  }
}
