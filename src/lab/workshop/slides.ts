/** The workshop as slides: one HTML file that needs no server. The page of the lab has it, too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { html, raw } from 'hono/html';
import { marked } from 'marked';
import type { Language } from '../../texts/texts.ts';
import { projectFolder } from '../mutants/change.ts';
import { colours } from '../report/colours.ts';
import { type Step, stepsIn } from './steps.ts';
import { workshopTexts } from './texts.ts';

/** In the page they are files of their own: its policy allows no others. */
export const slidesScript = (): string =>
  readFileSync(join(projectFolder, 'dist/page/client/slides.js'), 'utf8');

export interface SlidesOptions {
  /** Its addresses are links then. */
  readonly isInPage?: boolean;
}

export function slidesPage(language: Language, { isInPage = false }: SlidesOptions = {}): string {
  const say = workshopTexts[language];
  const steps = stepsIn(language);
  const page = html`<!doctype html>
<html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${say.workshop}</title>
<link rel="icon" href="data:,">
${styled(isInPage)}
<section><h1>${say.workshop}</h1><div><main><p>${say.sold}</p>${salePicture(language)}
<p><strong>${say.promises}</strong></p>
<p class="quiet">${say.moves} · ${say.notes}</p></main>
<aside>${markdown(say.opening)}</aside></div></section>
<section><h2>${say.steps}</h2><div><main>
<ol>${steps.map(({ title }) => html`<li>${title}</li>`)}</ol></main></div></section>
${steps.flatMap((step, index) => slidesOf(step, index, { of: steps.length, language, isInPage }))}
<footer>
${isInPage ? links(language) : ''}<button data-move="-1">←</button><button data-move="1">→</button>
</footer>
${scripted(isInPage)}
</html>
`;
  return String(page);
}

const styled = (isInPage: boolean) =>
  isInPage
    ? html`<link rel="stylesheet" href="/slides.css">`
    : html`<style>${raw(slidesStyle)}</style>`;

const scripted = (isInPage: boolean) =>
  isInPage
    ? html`<script type="module" src="/slides.js"></script>`
    : html`<script type="module">${raw(slidesScript())}</script>`;

const markdown = (text: string) => raw(marked.parse(text, { async: false }));

/** A Chinese letter is two columns wide, which few fonts know. */
const inColumns = (output: string) =>
  raw(
    markdown(`\`\`\`text\n${output}\n\`\`\``)
      .toString()
      .replaceAll(/[\u2e80-\uffef]/g, '<i>$&</i>'),
  );

/** Its addresses open in the page, in the same language; a terminal or a file has none. */
const withLinks = (text: string, language: Language): string =>
  text.replaceAll(/`(\/(?:race|run|break|drills|scoreboard)[^`]*)`/g, (_, address: string) => {
    const more = `${address.includes('?') ? '&' : '?'}language=${language}`;
    return `[\`${address}\`](${address}${more})`;
  });

const links = (language: Language) => {
  const other = language === 'en' ? 'zh' : 'en';
  const name = { en: 'English', zh: '中文' }[other];
  return html`<a href="/">Lockstep</a> <a href="/workshop?language=${other}">${name}</a> `;
};

interface SlideContext extends Required<SlidesOptions> {
  readonly of: number;
  readonly language: Language;
}

function slidesOf(step: Step, index: number, { of, language, isInPage }: SlideContext) {
  const say = workshopTexts[language];
  const head = say.step(index + 1, of, step.title);
  const notes = html`<aside>${markdown(step.say)}</aside>`;
  const slide = (content: unknown) =>
    html`<section><h2>${head}</h2><div><main>${content}</main>${notes}</div></section>`;
  const answer = html`<p><strong data-answer="${index}" data-right="${step.right}"></strong></p>`;
  return [
    slide([markdown(step.question), choices(step, index, language)]),
    slide(markdown(isInPage ? withLinks(step.todo, language) : step.todo)),
    ...step.seen.flatMap(pagesOf).map((page) => slide(inColumns(page))),
    slide([html`<h3>${say.why}</h3>`, answer, markdown(step.why)]),
    slide([
      ...[html`<h3>${say.code}</h3>`, markdown(step.code)],
      ...[html`<h3>${say.exercise}</h3>`, markdown(step.exercise)],
    ]),
  ];
}

const choices = ({ choices }: Step, index: number, language: Language) => [
  html`<p class="quiet">${workshopTexts[language].answer}</p>`,
  ...choices.map(({ letter, text }) => {
    const data = html`data-step="${index}" data-letter="${letter}"`;
    return html`<button ${data} aria-pressed="false"><b>${letter}</b> ${text}</button>`;
  }),
];

/** As many as a slide of 720 pixels shows. */
const linesMax = 27;

/** One slide for each command that was played; more where it says more, cut at an empty line. */
function pagesOf(output: string): string[] {
  const [command = ''] = output.split('\n');
  const [first = '', ...paragraphs] = output.split('\n\n');
  const pages = [first];
  for (const paragraph of paragraphs) {
    const longer = `${pages.at(-1)}\n\n${paragraph}`;
    if (longer.split('\n').length <= linesMax) pages.splice(-1, 1, longer);
    else pages.push(`${command} …\n\n${paragraph}`);
  }
  return pages;
}

const style = `
body { margin: 0; font: clamp(1.1rem, 1.9vw, 2.2rem)/1.4 system-ui, sans-serif; }
section { padding: 0.6rem 2.5rem 3.5rem; } section[hidden] { display: none; }
h1 { margin: 0.3rem 0; } h2 { margin: 0 0 1rem; font-size: 1.35em; } h3 { margin-bottom: 0.3rem; }
pre { line-height: 1.3; overflow-x: auto; margin: 0.5rem 0; padding-bottom: 0.4rem; }
pre:has(.language-text) { font-size: 0.67em; }
pre i { display: inline-block; width: 2ch; font-style: normal; }
code { font-size: 0.9em; overflow-wrap: anywhere; }
pre code { font-size: 1em; overflow-wrap: normal; }
main p, main li { max-width: 50em; }
main > p > code, main li code { font-weight: bold; }
.quiet { color: var(--quiet); font-size: 0.8em; }
.sale { display: block; max-height: 46vh; margin: 0.4rem 0; width: 100%; }
.sale rect { fill: none; stroke: var(--text); stroke-width: 2; }
.sale .all { stroke-dasharray: 6; stroke-width: 1; }
.sale circle { fill: var(--fine); } .sale line { stroke: var(--quiet); stroke-width: 2; }
.sale marker path { fill: var(--quiet); }
.sale text { fill: var(--quiet); font-size: 19px; text-anchor: middle; }
.sale .name { fill: var(--text); font-size: 22px; font-weight: bold; }
button { font: inherit; padding: 0.1rem 0.8rem; cursor: pointer; }
button[data-letter] {
  display: block; width: 100%; margin: 0.4rem 0; padding: 0.4rem 0.8rem; text-align: left;
  color: inherit; background: none; border: 2px solid var(--line); border-radius: 8px;
}
button[data-letter] b { margin-right: 0.6em; }
button[aria-pressed=true] { background: var(--fine); color: var(--on-mark); }
aside {
  display: none; font-size: 0.8em; color: var(--quiet);
  border-left: 3px solid var(--line); padding-left: 1rem;
}
.with-notes aside { display: block; }
.with-notes section > div {
  display: grid; grid-template-columns: minmax(0, 7fr) minmax(0, 3fr); gap: 1.5rem;
}
footer { position: fixed; right: 1rem; bottom: 0.6rem; }
@media print {
  section, section[hidden] { display: block; break-after: page; }
  aside { display: block; }
  footer { display: none; }
}
`;

export const slidesStyle = colours + style;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly text?: string;
}

const box = ({ x, y, width, height, title, text }: Box) => {
  const [middle, centre] = [x + width / 2, y + height / 2 + 6];
  return html`<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" />
<text class="name" x="${middle}" y="${text ? centre - 11 : centre}">${title}</text>
${text ? html`<text x="${middle}" y="${centre + 13}">${text}</text>` : ''}`;
};

type Point = readonly [x: number, y: number];

const arrow = ([fromX, fromY]: Point, [toX, toY]: Point) =>
  html`<line x1="${fromX}" y1="${fromY}" x2="${toX}" y2="${toY}" marker-end="url(#tip)" />`;

const buyers: readonly Point[] = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((row) =>
  [0, 1, 2].map((column): Point => [36 + 34 * column + 17 * (row % 2), 46 + 32 * row]),
);

const processes = [1, 2, 3, 4].map((number) => ({ name: `api-${number}`, y: 78 * number - 68 }));

/** What is sold, and what a purchase passes: the first slide. */
function salePicture(language: Language) {
  const say = workshopTexts[language].picture;
  return html`<svg class="sale" viewBox="0 0 1000 330" role="img" aria-label="${say.all}">
<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
 orient="auto"><path d="M0 0 8 4 0 8z" /></marker>
${buyers.map(([x, y]) => html`<circle cx="${x}" cy="${y}" r="9" />`)}
<text class="name" x="80" y="318">${say.buyers}</text>
<rect class="all" x="418" y="1" width="174" height="328" rx="8" />
${arrow([150, 162], [218, 162])}
${box({ ...{ x: 220, y: 122, width: 120, height: 80 }, title: 'nginx' })}
${processes.map(({ name, y }) => [
  arrow([340, 162], [428, y + 31]),
  box({ ...{ x: 430, y, width: 150, height: 62 }, title: name, text: say.process }),
])}
${arrow([592, 120], [708, 70])}${arrow([592, 204], [708, 252])}
${box({ ...{ x: 710, y: 20, width: 280, height: 84 }, title: 'Redis', text: say.redis })}
${arrow([850, 104], [850, 130])}
${box({ ...{ x: 740, y: 132, width: 220, height: 56 }, title: say.worker })}
${arrow([850, 188], [850, 216])}
${box({ ...{ x: 710, y: 218, width: 280, height: 84 }, title: 'MySQL', text: say.mysql })}
</svg>`;
}
