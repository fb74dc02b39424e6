/** The files of the page. Each of its views is the same file. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context, Hono } from 'hono';
import { languages } from '../../../ladder/texts/texts.ts';
import { slidesPage, slidesScript, slidesStyle } from '../../workshop/slides.ts';

/** The bundle, also for a server that runs from src/. */
const files = fileURLToPath(new URL('../../../../dist/lab/page/client/', import.meta.url));
const types = { 'page.js': 'text/javascript', 'page.css': 'text/css', 'index.html': 'text/html' };

export const viewsOfLearners = ['/', '/ladder', '/ladder/:chapter', '/race/:rung'];
export const allViews = [
  ...viewsOfLearners,
  ...['/run/:of/:name', '/drills', '/break', '/scoreboard', '/room'],
];

export function addFiles<Env extends object>(app: Hono<Env>, views: readonly string[]): void {
  const file = (c: Context, name: keyof typeof types) =>
    c.body(readFileSync(files + name), 200, {
      'content-type': `${types[name]}; charset=utf-8`,
      'cache-control': 'no-cache',
    });
  app.get('/page.js', (c) => file(c, 'page.js'));
  app.get('/page.css', (c) => file(c, 'page.css'));
  for (const path of views) app.get(path, (c) => file(c, 'index.html'));
  app.get('/slides.js', (c) => c.body(slidesScript(), 200, { 'content-type': types['page.js'] }));
  app.get('/slides.css', (c) => c.body(slidesStyle, 200, { 'content-type': types['page.css'] }));
  app.get('/workshop', (c) => {
    const language = languages.find((each) => each === c.req.query('language')) ?? 'en';
    return c.html(slidesPage(language, { isInPage: true }));
  });
}
