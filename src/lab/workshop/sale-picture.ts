/** What is sold, and what a purchase passes: the first slide. */
import { html } from 'hono/html';
import type { Language } from '../../texts/texts.ts';
import { workshopTexts } from './texts.ts';

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

export function salePicture(language: Language) {
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
