/**
 * The open streams of this instance, of which there is a limit: each takes a connection, and two of
 * nginx, that a purchase may need.
 */
import type { Claims } from './tokens.ts';

/** One user cannot take all places. */
const perUserMax = 5;
/** Later the client opens it again, on an instance that may be less busy. */
const mostMs = 600_000;

export interface OpenStream {
  /** Aborts when the stream must end: its token or its time is over. */
  readonly signal: AbortSignal;
  /** The client has left, or was told all: its place is free. */
  end(): void;
}

export class OrderStreams {
  readonly #limit: number;
  readonly #open = new Set<{ readonly userId: string }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Null when there is no place. */
  open({ sub: userId, exp }: Claims): OpenStream | null {
    const own = [...this.#open].filter((stream) => stream.userId === userId).length;
    if (this.#open.size >= this.#limit || own >= perUserMax) return null;
    const over = new AbortController();
    const timer = setTimeout(() => end(), Math.min(mostMs, exp * 1_000 - Date.now()));
    const end = () => {
      clearTimeout(timer);
      this.#open.delete(stream);
      over.abort();
    };
    const stream = { userId };
    this.#open.add(stream);
    return { signal: over.signal, end };
  }
}
