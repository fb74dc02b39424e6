/** The page's server: its files, the feed of events, and the commands. Their effect is an event. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';
import { whyNot } from '../../lab/by-hand/break-choice.ts';
import { plannedBreak, plannedDrill, plannedRace } from '../../lab/commands/planned.ts';
import { breakRow, drillRow, faultRow, raceRow } from '../../lab/commands/rows.ts';
import { rungsWithOrders } from '../../lab/play/set-up.ts';
import { useKey } from '../access.ts';
import { Plays } from './plays.ts';
import { RoomDoor } from './room-door.ts';
import { Runs } from './runs.ts';
import { addPlays, addSite, addViewers, Choices, type Env, Rung, setSession } from './site.ts';

const Once = z.object({
  rung: Rung,
  choices: Choices,
  stopsEverywhere: z.boolean().default(false),
});
const Again = Once.extend({ times: z.int().min(1).max(10) });

const OrdersOf = z.object({ rung: Rung.refine((rung) => rungsWithOrders.includes(rung)) });

/** What the page asks for is what the commands take; it names all of it. */
const RaceWanted = z.object({
  race: raceRow.arguments.name.schema.unwrap(),
  rung: raceRow.options.rung.schema.unwrap(),
});
const DrillWanted = z.object({
  drill: drillRow.arguments.name.schema.unwrap(),
  minutes: drillRow.options.minutes.schema.unwrap(),
  seed: drillRow.options.seed.schema.unwrap(),
});

export interface PageOptions {
  readonly folder: string;
  readonly runsFolder: string;
  /** `lab-….localhost:17399` */
  readonly host: string;
  readonly port: number;
}

/** Listens on the loopback address. */
export function servePage({ folder, runsFolder, host, port }: PageOptions) {
  const plays = new Plays(folder);
  const runs = new Runs(folder, runsFolder, plays);
  const door = new RoomDoor({ folder, port, plays });
  const app = new Hono<Env>();
  app.get('/healthz', (c) => c.body(null, 204)); // The lab asks, without this host's name.
  addSite(app, host);
  addSession(app, folder, host);
  addPlays(app, { plays, room: (viewer) => door.now(viewer), playsMax: 8, refuse: () => {} });
  addCommands(app, plays, runs);
  addRuns(app, runs, plays);
  addRoom(app, door);
  const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
  return { plays, runs, door, server };
}

function addSession(app: Hono<Env>, folder: string, host: string): void {
  const cookie = `lockstep-${host.replaceAll(/\W/g, '-')}`;
  app.post('/session', async (c) => {
    const { key } = z.object({ key: z.string().max(1_000) }).parse(await c.req.json());
    const session = await useKey(folder, key);
    if (session === null) return c.json({ code: 'key-used', title: 'This key was used' }, 403);
    return setSession(c, cookie, session);
  });
  const refused = { code: 'no-session', title: 'A key is needed' };
  addViewers(app, { folder, cookie }, ({ room }) => !room, refused);
}

function addCommands(app: Hono<Env>, plays: Plays, runs: Runs): void {
  app.post('/api/again', async (c) => {
    const { times, ...request } = Again.parse(await c.req.json());
    return c.json({ times, violated: await plays.again(request, times) });
  });
  app.post('/api/commands', async (c) => {
    return c.json(await plays.commands(Once.parse(await c.req.json())));
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

const BreakWanted = z
  .object({
    broken: breakRow.arguments.rung.schema,
    beside: breakRow.options.beside.schema,
    arrivals: breakRow.options.arrivals.schema.unwrap(),
    perSecond: breakRow.options.perSecond.schema.unwrap(),
    minutes: breakRow.options.minutes.schema.unwrap(),
  })
  .transform(({ broken: rung, ...more }) => ({ rung, ...more }))
  .refine((wanted) => whyNot(wanted) === null);
const FaultAsked = z.object({
  verb: faultRow.arguments.verb.schema,
  server: z.string().max(40).default(''),
  ms: faultRow.options.ms.schema,
});

const drillOf = ({ drill, minutes, seed }: z.infer<typeof DrillWanted>) =>
  plannedDrill(drill, { minutes, seed });

function addRuns(app: Hono<Env>, runs: Runs, plays: Plays): void {
  app.get('/api/feed', (c) => c.json({ ...runs.placeFor(c.get('viewer')), hasLab: plays.haveLab }));
  app.post('/api/runs', async (c) => {
    const wanted = z.union([RaceWanted, DrillWanted, BreakWanted]).parse(await c.req.json());
    if ('race' in wanted) await runs.begin(c.get('viewer'), plannedRace(wanted.race, wanted.rung));
    else if ('drill' in wanted) await runs.begin(c.get('viewer'), drillOf(wanted));
    else await runs.begin(c.get('viewer'), plannedBreak(wanted));
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

const Address = z.object({ address: z.string().max(40) });

function addRoom(app: Hono<Env>, door: RoomDoor): void {
  app.get('/api/room', (c) => c.json({ addresses: door.addresses }));
  app.post('/api/room', async (c) => {
    await door.open(Address.parse(await c.req.json()).address);
    return c.json({}, 201);
  });
  app.post('/api/room/at', async (c) => {
    const { rung } = z.object({ rung: Rung }).parse(await c.req.json());
    if (!door.show(rung)) return c.json({ code: 'no-room', title: 'The room is closed' }, 404);
    return c.json({});
  });
  app.delete('/api/room', async (c) => {
    await door.close();
    return c.json({});
  });
}
