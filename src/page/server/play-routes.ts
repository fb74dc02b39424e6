/** The commands of a play, and its events. */
import type { Hono } from 'hono';
import { z } from 'zod';
import { choicesIn, laneNames, lettersMax } from '../../lab/play/letters.ts';
import { isRungName } from '../../service/ladder/rungs.ts';
import { eventStream } from './event-stream.ts';
import type { NewPlay, Plays } from './plays.ts';

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

/** The id of who asks. */
export interface Env {
  Variables: { viewer: string };
}

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
