/** The feed of a viewer: what happens is pushed into it, and his pages read it as a stream. */
import { randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { EventContent, StageEvent } from '../../lab/stage/events.ts';

const kept = 20_000;

/** A page that comes back after a restart of the server has the number of another feed. */
export interface FeedPlace {
  readonly feed: string;
  readonly last: number;
}

/** The events of one viewer, numbered: a page that comes back says the last number that it has. */
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

  /** What happens now. */
  tell(event: EventContent): void {
    this.push({ ...event, number: 0, at: String(process.hrtime.bigint()) });
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

/** A proxy or a browser may end a stream that says nothing. */
const beatMs = 15_000;

const text = (event: StageEvent): string =>
  `id: ${event.number}\ndata: ${JSON.stringify(event)}\n\n`;

/**
 * The feed of a viewer as server-sent events. It begins behind the last number that the viewer has.
 * @param room what the viewer may know of the room, as JSON: told when it has changed
 */
export function eventStream(c: Context, feed: Feed, room: () => string): Response {
  const last = c.req.header('last-event-id') ?? c.req.query('after') ?? 0; // It comes back by itself.
  const known = { feed: c.req.query('feed') ?? '', last: Number(last) };
  return streamSSE(c, async (stream) => {
    let wake = () => {};
    const stop = feed.listen(() => wake());
    stream.onAbort(() => {
      stop();
      wake();
    });
    let place: FeedPlace = known;
    let toldRoom = '';
    await stream.write(': open\n\n');
    while (!stream.aborted) {
      const events = feed.after(place);
      const last = events?.at(-1)?.number ?? feed.place.last;
      place = { ...feed.place, last };
      if (events === null) await stream.writeSSE({ event: 'gone', data: JSON.stringify(place) });
      else if (events.length > 0) await stream.write(events.map(text).join(''));
      if (room() !== toldRoom) {
        toldRoom = room();
        await stream.writeSSE({ event: 'room', data: toldRoom });
      }
      const isBeat = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), beatMs);
        wake = () => {
          clearTimeout(timer);
          resolve(false);
        };
        if (feed.place.last > last || room() !== toldRoom || stream.aborted) wake();
      });
      if (isBeat) await stream.write(': \n\n');
    }
  });
}
