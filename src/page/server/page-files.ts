/** The files of the page. Each of its views is the same file. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context, Hono } from 'hono';
import { slidesPage, slidesScript, slidesStyle } from '../../lab/workshop/slides.ts';
import { languages } from '../../texts/texts.ts';
import { docsPages } from './docs-pages.ts';

/** The bundle, also for a server that runs from src/. */
const files = fileURLToPath(new URL('../../../dist/page/client/', import.meta.url));
const types = {
  ...{ 'page.js': 'text/javascript', 'page.packed': 'text/plain' },
  ...{ 'page.css': 'text/css', 'index.html': 'text/html' },
};

const views = [
  ...['/', '/ladder', '/ladder/:chapter', '/race/:rung', '/run/:of/:name'],
  ...['/drills', '/break', '/scoreboard', '/room'],
];

/** The page says to whom a view is open, and that there is no other one. */
export function addFiles<Env extends object>(app: Hono<Env>): void {
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
