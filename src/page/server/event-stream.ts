/** The feed of a viewer as server-sent events. It begins behind the last number that he has. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { StageEvent } from '../../lab/stage/events.ts';
import type { Feed, FeedPlace } from './feed.ts';

/** A proxy or a browser may end a stream that says nothing. */
const beatMs = 15_000;

const text = (event: StageEvent): string =>
  `id: ${event.number}\ndata: ${JSON.stringify(event)}\n\n`;

/** @param room what the viewer may know of the room, as JSON: told when it has changed */
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
