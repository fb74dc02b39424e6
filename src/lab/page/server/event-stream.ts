/** The feed of a viewer as server-sent events. It begins behind the last number that he has. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { StageEvent } from '../../stage/events.ts';
import type { Feed } from './feed.ts';

/** A proxy or a browser may end a stream that says nothing. */
const beatMs = 15_000;

const text = (event: StageEvent): string =>
  `id: ${event.number}\ndata: ${JSON.stringify(event)}\n\n`;

export function eventStream(c: Context, feed: Feed): Response {
  const known = Number(c.req.header('last-event-id') ?? c.req.query('after') ?? 0);
  return streamSSE(c, async (stream) => {
    let wake = () => {};
    const stop = feed.listen(() => wake());
    stream.onAbort(() => {
      stop();
      wake();
    });
    let sent = known;
    await stream.write(': open\n\n');
    while (!stream.aborted) {
      const events = feed.after(sent);
      const last = events?.at(-1)?.number ?? feed.last;
      if (events === null) await stream.writeSSE({ event: 'gone', data: String(last) });
      else if (events.length > 0) await stream.write(events.map(text).join(''));
      sent = last;
      const isBeat = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), beatMs);
        wake = () => {
          clearTimeout(timer);
          resolve(false);
        };
        if (feed.last > sent || stream.aborted) wake();
      });
      if (isBeat) await stream.write(': \n\n');
    }
  });
}
