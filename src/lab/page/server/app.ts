/** The page's server: its files, the feed of events, and the commands. Their effect is an event. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { LockstepError } from '../../../errors.ts';
import { isRungName } from '../../../ladder/rungs.ts';
import { isHandVerb } from '../../by-hand/hand.ts';
import { choicesIn, laneNames, mostLetters } from '../../choices/letters.ts';
import { rungsWithOrders } from '../../choices/set-up.ts';
import { isDrillName } from '../../drills/drills.ts';
import { isRaceName } from '../../races/schedules.ts';
import { plannedBreak, plannedDrill, plannedRace } from '../../report/planned.ts';
import { useKey, viewerIn } from '../access.ts';
import { eventStream } from './event-stream.ts';
import type { Plays } from './plays.ts';
import type { Runs } from './runs.ts';
import { sameOrigin } from './same-origin.ts';

/** The bundle, also for a server that runs from src/. */
const files = fileURLToPath(new URL('../../../../dist/lab/page/client/', import.meta.url));
const types = { 'page.js': 'text/javascript', 'page.css': 'text/css', 'index.html': 'text/html' };

const Rung = z.string().refine(isRungName);
const Choices = z
  .string()
  .max(mostLetters)
  .refine((text) => text === '' || choicesIn(text) !== null);
const Begin = z.object({
  rung: Rung,
  choices: Choices.default(''),
  slot: z.string().regex(/^[a-z0-9]{1,20} (main|beside)$/),
  request: z.string().max(40).default(''),
  lanes: z.int().min(2).max(laneNames.length).default(2),
  isFine: z.boolean().default(false),
});
const Choice = z.object({ choice: Choices.refine((text) => choicesIn(text)?.length === 1) });
const Again = z.object({
  rung: Rung,
  choices: Choices,
  isFine: z.boolean().default(false),
  times: z.int().min(1).max(10),
});

const OrdersOf = z.object({ rung: Rung.refine((rung) => rungsWithOrders.includes(rung)) });

const RaceWanted = z.object({ race: z.string().refine(isRaceName), rung: Rung });
const Minutes = z.number().positive().max(60);
const DrillWanted = z.object({
  drill: z.string().refine(isDrillName),
  minutes: Minutes,
  seed: z
    .int()
    .min(0)
    .max(2 ** 31),
});

type Env = { Variables: { viewer: string } };

export interface PageOptions {
  readonly folder: string;
  /** `lab-….localhost:17399` */
  readonly host: string;
  readonly plays: Plays;
  readonly runs: Runs;
}

export function pageApp({ folder, host, plays, runs }: PageOptions): Hono<Env> {
  const app = new Hono<Env>();
  app.get('/healthz', (c) => c.body(null, 204)); // The lab asks, without this host's name.
  app.use(sameOrigin(host));
  addFiles(app);
  addSession(app, folder, host);
  addCommands(app, plays, runs);
  addRuns(app, runs);
  app.onError(answerTo);
  return app;
}

function addFiles(app: Hono<Env>): void {
  const file = (c: Context, name: keyof typeof types) =>
    c.body(readFileSync(files + name), 200, {
      'content-type': `${types[name]}; charset=utf-8`,
      'cache-control': 'no-cache',
    });
  app.get('/page.js', (c) => file(c, 'page.js'));
  app.get('/page.css', (c) => file(c, 'page.css'));
  for (const path of [
    '/',
    '/ladder',
    '/ladder/:chapter',
    '/race/:rung',
    '/run/:of/:name',
    '/drills',
    '/break',
    '/scoreboard',
  ])
    app.get(path, (c) => file(c, 'index.html'));
}

function addSession(app: Hono<Env>, folder: string, host: string): void {
  const cookie = `lockstep-${host.replaceAll(/\W/g, '-')}`;
  app.post('/session', async (c) => {
    const { key } = z.object({ key: z.string().max(1_000) }).parse(await c.req.json());
    const session = await useKey(folder, key);
    if (session === null) return c.json({ code: 'key-used', title: 'This key was used' }, 403);
    setCookie(c, cookie, session, { httpOnly: true, sameSite: 'Strict', path: '/' });
    return c.json({}, 201);
  });
  app.use('/api/*', async (c, next) => {
    const viewer = await viewerIn(folder, getCookie(c, cookie) ?? '');
    if (viewer === null) return c.json({ code: 'no-session', title: 'A key is needed' }, 401);
    c.set('viewer', viewer);
    return next();
  });
}

function addCommands(app: Hono<Env>, plays: Plays, runs: Runs): void {
  app.get('/api/events', (c) => eventStream(c, plays.feedOf(c.get('viewer'))));
  app.post('/api/plays', async (c) => {
    const wanted = Begin.parse(await c.req.json());
    return c.json({ player: await plays.begin(c.get('viewer'), wanted) }, 201);
  });
  app.post('/api/plays/:player/choices', async (c) => {
    const { choice } = Choice.parse(await c.req.json());
    const isPlayed = await plays.choose(c.get('viewer'), c.req.param('player'), choice);
    return isPlayed ? c.json({}) : c.json({ code: 'no-play', title: 'The play is over' }, 404);
  });
  app.post('/api/again', async (c) => {
    const { times, ...request } = Again.parse(await c.req.json());
    return c.json({ times, violated: await plays.again(request, times) });
  });
  app.post('/api/commands', async (c) => {
    const { times: _, ...request } = Again.parse({ times: 1, ...(await c.req.json()) });
    return c.json(await plays.commands(request));
  });
  app.post('/api/orders', async (c) => {
    const { rung } = OrdersOf.parse(await c.req.json());
    return c.json(await plays.orders(rung));
  });
  app.delete('/api/plays', async (c) => {
    await Promise.all([plays.leave(), runs.stop()]);
    return c.json({});
  });
}

const BreakWanted = z.object({
  broken: Rung,
  perSecond: z.int().min(1).max(5_000),
  minutes: Minutes,
});
const FaultAsked = z.object({
  verb: z.string().refine(isHandVerb),
  server: z.string().max(40).default(''),
  ms: z.int().min(0).max(600_000).default(2_000),
});

const breakOf = ({ broken: rung, perSecond, minutes }: z.infer<typeof BreakWanted>) =>
  plannedBreak({ rung, perSecond, minutes });
const drillOf = ({ drill, minutes, seed }: z.infer<typeof DrillWanted>) =>
  plannedDrill(drill, { minutes, seed });

function addRuns(app: Hono<Env>, runs: Runs): void {
  app.get('/api/feed', (c) => c.json(runs.placeFor(c.get('viewer'))));
  app.post('/api/runs', async (c) => {
    const wanted = z.union([RaceWanted, DrillWanted, BreakWanted]).parse(await c.req.json());
    if ('race' in wanted) await runs.begin(c.get('viewer'), plannedRace(wanted.race, wanted.rung));
    else if ('drill' in wanted) await runs.begin(c.get('viewer'), drillOf(wanted));
    else await runs.begin(c.get('viewer'), breakOf(wanted));
    return c.json({}, 201);
  });
  app.post('/api/faults', async (c) =>
    c.json({ done: await runs.fault(FaultAsked.parse(await c.req.json())) }),
  );
  app.delete('/api/runs', async (c) => {
    await runs.stop();
    return c.json({});
  });
}

function answerTo(error: Error, c: Context): Response {
  const problem = (status: 400 | 409 | 500, code: string, title: string) =>
    c.json({ code, title }, status, { 'content-type': 'application/problem+json' });
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return problem(400, 'invalid-request', 'The request is not valid');
  if (error instanceof LockstepError) return problem(409, error.code, error.message);
  console.error(error);
  return problem(500, 'internal-error', 'The page failed; its log says why');
}
