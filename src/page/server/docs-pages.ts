/**
 * The project's pages as HTML, with the files that they link, so that a room without a network
 * can read them. They begin at `/docs`, and have the addresses of their files.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type Context, Hono } from 'hono';
import { html, raw } from 'hono/html';
import { Marked } from 'marked';
import { projectFolder } from '../../lab/mutants/change.ts';

/** Whose files are served, beside the pages of the project's own folder. */
const folders = [
  ...['docs', 'src', 'lua', 'k6', 'nginx', 'test', 'examples', 'bench', 'scripts', 'containers'],
];
const types: Readonly<Record<string, string>> = { '.png': 'image/png', '.svg': 'image/svg+xml' };

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/<[^>]*>|[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens);
      return `<h${depth} id="${anchorOf(text)}">${inner}</h${depth}>\n`;
    },
  },
});

const asPage = (name: string, markdown: string) => html`<!doctype html>
<html lang="${/^docs\/zh\/|zh-CN/.test(name) ? 'zh-CN' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${/^# (.*)/m.exec(markdown)?.[1] ?? name}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<header><nav><a href="/"><b>Lockstep</b></a><a href="/docs">Docs</a></nav></header>
<main class="docs">${raw(marked.parse(markdown, { async: false }))}</main>
</html>`;

function answer(c: Context): Response | Promise<Response> {
  const name = c.req.path.slice(1);
  const path = join(projectFolder, name);
  if (!existsSync(path) || !statSync(path).isFile()) return c.notFound();
  const extension = extname(name);
  if (extension === '.md') return c.html(asPage(name, readFileSync(path, 'utf8')));
  return c.body(readFileSync(path), 200, {
    'content-type': types[extension] ?? 'text/plain; charset=utf-8',
    // A recorded run has its script in itself, which the policy of the page refuses.
    ...(extension === '.html' && { 'content-disposition': 'attachment' }),
  });
}

export function docsPages(): Hono {
  const app = new Hono();
  app.get('/docs', (c) => c.redirect('/docs/README.md'));
  for (const folder of folders) app.get(`/${folder}/*`, answer);
  app.get('/:page{[\\w.-]+\\.md|LICENSE}', answer);
  return app;
}
