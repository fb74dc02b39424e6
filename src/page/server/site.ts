/**
 * What the page of the instructor and that of the learners have alike: who may ask, the session of
 * a viewer, his plays and their events, the files, and how an error is answered. Each view is the
 * same file.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { isLabError } from '../../lab/errors.ts';
import { choicesIn, laneNames, lettersMax } from '../../lab/play/letters.ts';
import { slidesPage, slidesScript, slidesStyle } from '../../lab/workshop/slides.ts';
import { LockstepError } from '../../service/errors.ts';
import { isRungName } from '../../service/ladder/rungs.ts';
import { languages } from '../../texts/texts.ts';
import { type Viewer, viewerIn } from '../access.ts';
import { docsPages } from './docs-pages.ts';
import { eventStream } from './feed.ts';
import type { NewPlay, Plays } from './plays.ts';

/** The id of who asks. */
export interface Env {
  Variables: { viewer: string };
}

export function addSite(app: Hono<Env>, host: string): void {
  app.use(sameOrigin(host));
  addFiles(app);
  app.onError(answerTo);
}

export function setSession(c: Context, cookie: string, session: string): Response {
  setCookie(c, cookie, session, { httpOnly: true, sameSite: 'Strict', path: '/' });
  return c.json({}, 201);
}

/** @param refused what is answered to everybody else, as 401 */
export function addViewers(
  app: Hono<Env>,
  { folder, cookie }: { readonly folder: string; readonly cookie: string },
  isAllowed: (viewer: Viewer) => boolean,
  refused: { readonly code: string; readonly title: string },
): void {
  app.use('/api/*', async (c, next) => {
    const viewer = await viewerIn(folder, getCookie(c, cookie) ?? '');
    if (viewer === null || !isAllowed(viewer)) return c.json(refused, 401);
    c.set('viewer', viewer.id);
    return next();
  });
}

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

/** Scripts, styles and requests of this server only. No page may frame this one. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @returns why a request is refused; null for one of this page */
function refusal(c: Context, host: string): [status: 403 | 421, code: string] | null {
  if (c.req.header('host') !== host) return [421, 'another-host'];
  const origin = c.req.header('origin');
  const isCommand = !['GET', 'HEAD'].includes(c.req.method);
  if (isCommand ? origin !== `http://${host}` : origin && origin !== `http://${host}`)
    return [403, 'another-origin'];
  const site = c.req.header('sec-fetch-site') ?? 'none';
  const isNavigation = c.req.header('sec-fetch-mode') === 'navigate' && !isCommand;
  return isNavigation || ['same-origin', 'none'].includes(site) ? null : [403, 'another-site'];
}

/**
 * Every request must name the host of this lab, and every command must come from this page. To a
 * browser, all ports of 127.0.0.1 are one site: so another page that is open there must be refused.
 */
const sameOrigin =
  (host: string): MiddlewareHandler =>
  async (c, next) => {
    const refused = refusal(c, host);
    if (refused) return c.json({ code: refused[1], title: 'Not from this page' }, refused[0]);
    await next();
    c.header('content-security-policy', policy);
    c.header('x-content-type-options', 'nosniff');
    c.header('referrer-policy', 'no-referrer');
    c.header('cross-origin-opener-policy', 'same-origin');
    c.header('cross-origin-resource-policy', 'same-origin');
  };

type Status = 400 | 403 | 409 | 429 | 500;

function statusOf(error: LockstepError): Status {
  if (isLabError(error, 'INSTRUCTORS_ALONE') || isLabError(error, 'WRONG_CODE')) return 403;
  return isLabError(error, 'TOO_MANY_CODES') ? 429 : 409;
}

/** What is wrong with a command, as a code and a sentence. */
function answerTo(error: Error, c: Context): Response {
  const problem = (status: Status, code: string, title: string) =>
    c.json({ code, title }, status, { 'content-type': 'application/problem+json' });
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return problem(400, 'invalid-request', 'The request is not valid');
  if (error instanceof LockstepError) return problem(statusOf(error), error.code, error.message);
  console.error(error);
  return problem(500, 'internal-error', 'The page failed; its log says why');
}

/** The bundle, also for a server that runs from src/. */
const files = fileURLToPath(new URL('../../../dist/page/client/', import.meta.url));
const types = {
  'page.js': 'text/javascript',
  'page.packed': 'text/plain',
  'page.css': 'text/css',
  'index.html': 'text/html',
};

const views = [
  ...['/', '/ladder', '/ladder/:chapter', '/race/:rung', '/run/:of/:name'],
  ...['/drills', '/break', '/scoreboard', '/room'],
];

/** The page says to whom a view is open, and that there is no other one. */
function addFiles(app: Hono<Env>): void {
  const file = (c: Context, name: keyof typeof types, status: 200 | 404 = 200) =>
    c.body(readFileSync(files + name), status, {
      'content-type': `${types[name]}; charset=utf-8`,
      'cache-control': 'no-cache',
    });
  for (const name of ['page.js', 'page.packed', 'page.css'] as const)
    app.get(`/${name}`, (c) => file(c, name));
  for (const path of views) app.get(path, (c) => file(c, 'index.html'));
  app.notFound((c) => {
    if (c.req.header('accept')?.includes('text/html')) return file(c, 'index.html', 404);
    return c.json({ code: 'not-found', title: 'There is no such path' }, 404);
  });
  app.route('/', docsPages());
  app.get('/slides.js', (c) => c.body(slidesScript(), 200, { 'content-type': types['page.js'] }));
  app.get('/slides.css', (c) => c.body(slidesStyle, 200, { 'content-type': types['page.css'] }));
  app.get('/workshop', (c) => {
    const language = languages.find((each) => each === c.req.query('language')) ?? 'en';
    return c.html(slidesPage(language, { isInPage: true }));
  });
}
