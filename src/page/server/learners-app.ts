/** The page of the learners: they play on vouchers of their own, and can break no server. */

import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { labError } from '../../lab/errors.ts';
import { disturbsOnlyItsOwnPlay } from '../../lab/play/letters.ts';
import { isOutcome } from '../../lab/play/outcomes.ts';
import { hasWorker } from '../../lab/play/set-up.ts';
import { learnerSession, type Viewer } from '../access.ts';
import type { Plays } from './plays.ts';
import type { Room } from './room.ts';
import {
  addPlays,
  addSite,
  addViewers,
  type Env,
  type PlayRoutes,
  Rung,
  setSession,
} from './site.ts';

const cookie = 'lockstep-learner';
const bytesMax = 10_000;

export function learnersApp(folder: string, plays: Plays, room: Room): Hono<Env> {
  const app = new Hono<Env>();
  addSite(app, room.host);
  app.use(bodyLimit({ maxSize: bytesMax }));
  addJoin(app, folder, room);
  addPlays(app, { plays, room: () => room.now(), playsMax: 2, refuse: refuseFaults });
  app.get('/api/feed', (c) => c.json({ ...plays.feedOf(c.get('viewer')).place, isLearner: true }));
  app.post('/api/predictions', async (c) => {
    const { rung, outcome } = Prediction.parse(await c.req.json());
    room.tally.predict(c.get('viewer'), rung, outcome);
    return c.json({});
  });
  return app;
}

const Prediction = z.object({ rung: Rung, outcome: z.string().refine(isOutcome) });

function addJoin(app: Hono<Env>, folder: string, room: Room): void {
  app.post('/join', async (c) => {
    const { code } = z.object({ code: z.string().max(20) }).parse(await c.req.json());
    room.check(code);
    const learner = { id: randomUUID(), room: room.id };
    room.join(learner.id);
    return setSession(c, cookie, await learnerSession(folder, learner));
  });
  const isHere = (viewer: Viewer) => viewer.room === room.id && room.has(viewer.id);
  const refused = { code: 'join-first', title: 'The code of the room is needed' };
  addViewers(app, { folder, cookie }, isHere, refused);
}

/** @throws INSTRUCTORS_ALONE */
const refuseFaults: PlayRoutes['refuse'] = ({ rung, choices }) => {
  if (!disturbsOnlyItsOwnPlay(choices) || (rung && hasWorker(rung)))
    throw labError('INSTRUCTORS_ALONE');
};
