/** The commands of a play, and its events. */
import type { Context, Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { z } from 'zod';
import { choicesIn, laneNames, lettersMax } from '../../lab/play/letters.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import { isRungName } from '../../service/ladder/rungs.ts';
import type { Feed, FeedPlace, NewPlay, Plays } from './plays.ts';
import type { Env } from './site.ts';

export const Rung = z.string().refine(isRungName);
export const Choices = z
  .string()
  .max(lettersMax)
  .refine((text) => text === '' || choicesIn(text) !== null);
const Begin = z.object({
  rung: Rung,
  choices: Choices.default(''),
  slot: z.string().regex(/^[a-z0-9]{1,20} (main|beside)$/),
  request: z.string().max(40).default(''),
  lanes: z.int().min(2).max(laneNames.length).default(2),
  stopsEverywhere: z.boolean().default(false),
});
const Choice = z.object({ choice: Choices.refine((text) => choicesIn(text)?.length === 1) });

export interface PlayRoutes {
  readonly plays: Plays;
  /** What the viewer may know of the room. */
  readonly room: (viewer: string) => object | null;
  /** Of one viewer, in all his tabs. */
  readonly playsMax: number;
  /** @throws what the viewer may not do. */
  readonly refuse: (asked: Pick<NewPlay, 'choices'> & Partial<Pick<NewPlay, 'rung'>>) => void;
}

export function addPlays(app: Hono<Env>, { plays, room, playsMax, refuse }: PlayRoutes): void {
  app.get('/api/events', (c) => {
    const viewer = c.get('viewer');
    return eventStream(c, plays.feedOf(viewer), () => JSON.stringify(room(viewer)));
  });
  app.post('/api/plays', async (c) => {
    const wanted = { ...Begin.parse(await c.req.json()), playsMax };
    refuse(wanted);
    return c.json({ player: await plays.begin(c.get('viewer'), wanted) }, 201);
  });
  app.post('/api/plays/:player/choices', async (c) => {
    const { choice } = Choice.parse(await c.req.json());
    refuse({ choices: choice });
    const isPlayed = await plays.choose(c.get('viewer'), c.req.param('player'), choice);
    return isPlayed ? c.json({}) : c.json({ code: 'no-play', title: 'The play is over' }, 404);
  });
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
