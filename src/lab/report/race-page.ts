/** A race as one HTML page that needs no other file: lanes from left to right, time downwards. */
import { html, raw } from 'hono/html';
import type { Language } from '../../ladder/texts/texts.ts';
import type { PlayedStep, RaceResult } from '../races/race-verdict.ts';
import { colours } from './colours.ts';
import { lessonLines, stepMark, verdictLines } from './race-text.ts';
import { proofText } from './sentences.ts';
import { stepWords, told } from './step-words.ts';

const laneWidth = 300;
const stepHeight = 84;
const top = 60;

export function racePage(result: RaceResult, language: Language = 'en'): string {
  const { race, rung, title, verdict, steps } = result;
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  const size = {
    width: lanes.length * laneWidth + 60,
    height: top + steps.length * stepHeight + 10,
  };
  const middle = (lane: string) => 60 + lanes.indexOf(lane) * laneWidth;
  const lines = lanes.map(
    (
      lane,
    ) => html`<line x1="${middle(lane)}" y1="36" x2="${middle(lane)}" y2="${size.height}" class="lane" />
      <text x="${middle(lane)}" y="26" class="name">${lane}</text>`,
  );
  const proof = result.proof ? html`<pre>${proofText(result.proof).slice(1).join('\n')}</pre>` : '';
  const drawn = steps.map((step, index) => {
    const words = stepWords(step, result, language);
    const mark = stepMark(step, verdict === 'violated');
    return drawStep(step, index, { x: middle(step.lane), words, mark });
  });
  const said = verdictLines(result).map(
    (line) => html`<p class="${verdict}"><strong>${line}</strong></p>`,
  );
  const lesson = lessonLines(rung, language).filter((line) => line !== '');
  const page = html`<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${race} on ${rung}</title>
<style>${raw(style)}</style>
<h1>${race} <small>on ${rung}</small></h1>
<p>${told(title, language)}</p>
${said}
<svg width="${size.width}" height="${size.height}" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="the lanes of the race">${lines}${drawn}</svg>
<ol class="narrow">${steps.map((step) => listStep(step, result, language))}</ol>
${proof}
<p>${lesson.join(' ')}</p>
</html>
`;
  return String(page);
}

/** The same steps for a phone, where the lanes do not fit beside each other. */
function listStep(step: PlayedStep, result: RaceResult, language: Language) {
  const mark = stepMark(step, result.verdict === 'violated');
  const words = stepWords(step, result, language);
  return html`<li class="${classes[mark]}"><strong>${step.lane} ${mark}</strong> ${words}<br><code>${step.at}</code> ${step.instance ?? ''}</li>`;
}

const classes = { '✗': 'wrong', '…': 'waits', '●': 'fine' } as const;

interface Drawn {
  readonly x: number;
  readonly words: string;
  readonly mark: keyof typeof classes;
}

function drawStep({ at, instance }: PlayedStep, index: number, { x, words, mark }: Drawn) {
  const y = top + index * stepHeight;
  return html`<g class="${classes[mark]}">
    <text x="14" y="${y + 5}" class="number">${index + 1}</text>
    <circle cx="${x}" cy="${y}" r="11" /><text x="${x}" y="${y + 5}" class="mark">${mark}</text>
    <foreignObject x="${x + 20}" y="${y - 16}" width="${laneWidth - 40}" height="${stepHeight - 6}">
      <div xmlns="http://www.w3.org/1999/xhtml">${words}<br /><code>${at}</code> ${instance ?? ''}</div>
    </foreignObject>
  </g>`;
}

const style = `
${colours}
body { font: 16px/1.4 system-ui, sans-serif; margin: 2rem; }
h1 small { font-weight: 400; color: var(--quiet); } code { color: var(--quiet); } pre { font-size: 14px; overflow-x: auto; }
.violated strong { color: var(--bad); } .held strong { color: var(--good); } .unknown strong { color: var(--doubt); }
svg text { font: 15px system-ui, sans-serif; fill: var(--text); } svg .name { font-weight: 700; text-anchor: middle; }
.lane { stroke: var(--line); stroke-width: 2; } svg .number { fill: var(--quiet); } svg .mark { fill: var(--on-mark); text-anchor: middle; font-size: 13px; }
.fine circle { fill: var(--fine); } .waits circle { fill: var(--doubt); } .wrong circle { fill: var(--bad); }
foreignObject div { font-size: 14px; } .wrong foreignObject div, li.wrong { color: var(--bad); font-weight: 600; }
.narrow { display: none; } .narrow li { margin-bottom: .6rem; }
@media (max-width: 44rem) { body { margin: 1rem; } svg { display: none; } .narrow { display: block; padding-left: 1.4rem; } }
`;
