/** A result as one HTML page that needs no other file: verdict, charts, tables, and the command. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { html, raw } from 'hono/html';
import type { Result, Table } from '../stage/result.ts';
import { type Recorded, refusedIn, type Second } from '../stage/timeline.ts';
import type { Machine } from './machine.ts';
import { chartScript } from './result-chart.ts';
import { resultSeries } from './result-series.ts';
import { figureRows, fullCells } from './result-text.ts';

export interface ResultRecord {
  readonly experiment: string;
  readonly about: string;
  /** Repeats it. */
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  readonly result: Omit<Result, 'facts'>;
}

export function resultPage(record: ResultRecord): string {
  const { experiment, about, command, time, machine, result } = record;
  const { verdict, reasons, asClaimed = [], tables = [], hints = [], recorded } = result;
  const hasLoad = hasMarks(recorded);
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${experiment}, ${time}</title>
<style>${raw(chartFile('uPlot.min.css'))}${raw(style)}</style>
<h1>${experiment} <small>${about}; ${time}</small></h1>
<p class="verdict ${verdict}">${verdictSentence(result)}</p>
${hasLoad ? legend : ''}
${reasons.length > 0 ? html`<h2>Reasons</h2><ul>${reasons.map((each) => html`<li>${each}</li>`)}</ul>` : ''}
${asClaimed.length > 0 ? html`<h2>Violations, as the ladder claims</h2><ul>${asClaimed.map((each) => html`<li>${each}</li>`)}</ul>` : ''}
${tables.map(tableRows)}
${numbers('Figures', figureRows(result.figures), hasLoad ? repeated : '')}
${numbers(
  'Faults',
  Object.entries(result.faults).map(([name, times]) => [name, `${times} ×`]),
)}
<h2>Repeat it</h2>
<pre>${[command, ...hints].join('\n')}</pre>
<h2>Machine and versions</h2>
<ul>${Object.entries(machine).map(([name, value]) => html`<li>${name}: ${value}</li>`)}</ul>
${hasLoad ? charts(recorded) : ''}
</html>
`;
  return String(page);
}

const legend = html`<p class="legend">servers: <i class="up"></i>runs <i class="stopped"></i>stopped or killed <i class="paused"></i>paused <i class="other"></i>other fault
<br>answers: <i class="accepted"></i>accepted <i class="refused"></i>refused <i class="unknown"></i>unknown (it may have been sold)</p>
<div id="states"></div><div id="answers"></div><div id="latency"></div>`;

const repeated = html`<p>A figure that counts orders can be lower than the answers above: a request that is sent again is accepted again, with the order that it has.</p>`;

const charts = (
  recorded: Recorded,
) => html`<script type="application/json" id="series">${raw(inScript(JSON.stringify(resultSeries(recorded))))}</script>
<script>${raw(inScript(chartFile('uPlot.iife.min.js')))}${raw(chartScript)}</script>`;

/** Seconds say something where a load or a fault began, and nothing about single purchases. */
const hasMarks = ({ marks }: Recorded): boolean => marks.length > 0;

/** The verdict and what it cost, or the first reason of a verdict that is not `held`. */
export function verdictSentence(result: Omit<Result, 'facts'>): string {
  const { verdict, isAsClaimed, reasons, asClaimed = [], faults, recorded } = result;
  const more = reasons.length > 1 ? ` (${reasons.length} reasons)` : '';
  const claim = isAsClaimed && verdict === 'violated' ? ', as the ladder claims' : '';
  if (verdict !== 'held')
    return `${verdict}${claim}: ${reasons[0] ?? asClaimed[0] ?? 'see the figures'}${more}`;
  const injected = Object.values(faults).reduce((all, times) => all + times, 0);
  const sum = (count: (second: Second) => number) =>
    number(recorded.seconds.reduce((all, each) => all + count(each), 0));
  const counts = `${sum((each) => each.accepted)} accepted, ${sum(refusedIn)} refused, ${sum((each) => each.unknown)} unknown`;
  if (!hasMarks(recorded)) return `held. Faults: ${injected}.`;
  const gap = (recorded.longestGapMs / 1_000).toFixed(1);
  return `held through ${injected} faults. ${counts}; the longest time without a sale was ${gap} s.`;
}

/** Nothing where there is none. */
const numbers = (
  title: string,
  rows: readonly (readonly [string, string])[],
  above: unknown = '',
) =>
  rows.length === 0
    ? ''
    : html`<h2>${title}</h2>${above}
<table>${rows.map(([name, value]) => html`<tr><th>${name}</th><td class="number">${value}</td></tr>`)}</table>`;

const tableRows = ({ title, head, rows }: Table) => html`<h2>${title}</h2>
<div class="wide"><table><tr>${head.map((name) => html`<th>${name}</th>`)}</tr>
${rows.map((row) => html`<tr>${fullCells(row).map((value) => html`<td>${value}</td>`)}</tr>`)}
</table></div>`;

const number = (value: number): string => value.toLocaleString('en-US');

/** A file of the chart library, as its package has it. */
const chartFile = (name: string): string =>
  readFileSync(join(dirname(createRequire(import.meta.url).resolve('uplot')), name), 'utf8');

/** In an HTML script, `</` and `<!--` could end it. */
const inScript = (text: string): string =>
  text.replaceAll('</', '<\\/').replaceAll('<!--', '<\\!--');

const style = `
:root { color-scheme: light dark; --text: #1d2433; --soft: #5b6472; --page: #fff; --grid: #e3e7ee;
  --accepted: #12805c; --refused: #e69f00; --unknown: #8e3bb8; --p99: #1f5fbf; --up: #12805c;
  --load: #cfdcf3; --on-load: #1d2433; --stopped: #b3261e; --on-stopped: #fff; --paused: #5b6472; --on-paused: #fff;
  --other: #a3195b; --on-other: #fff; --held: #12805c; --violated: #b3261e; --unknown-verdict: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --text: #eef1f6; --soft: #aab3c2; --page: #12161e; --grid: #2c3442;
  --accepted: #2fc48d; --refused: #f2b632; --unknown: #c98af0; --p99: #7db2ff; --up: #2fc48d;
  --load: #2b3d5c; --on-load: #eef1f6; --stopped: #ff6b60; --on-stopped: #12161e; --paused: #9aa4b5; --on-paused: #12161e;
  --other: #ff8fbf; --on-other: #12161e; --held: #2fc48d; --violated: #ff6b60; --unknown-verdict: #f2b632; } }
body { font: 18px/1.45 system-ui, sans-serif; margin: 1.2rem auto; max-width: 90rem; padding: 0 1rem; color: var(--text); background: var(--page); }
h1 { margin: 0; } h1 small { font-weight: 400; color: var(--soft); font-size: 1rem; } h2 { margin: 1.6rem 0 .4rem; }
.verdict { font-size: 1.5rem; font-weight: 600; margin: .6rem 0; } .verdict::first-letter { text-transform: uppercase; }
.held { color: var(--held); } .violated { color: var(--violated); } p.unknown { color: var(--unknown-verdict); }
.legend { margin: .3rem 0; } .legend i { display: inline-block; width: 1.6rem; height: 1rem; margin: 0 .4rem 0 .9rem; vertical-align: -.1rem; }
.legend i.up { height: 4px; vertical-align: .3rem; background: var(--up); } .legend i.stopped { background: var(--stopped); }
.legend i.paused { background: var(--paused); } .legend i.other { background: var(--other); }
.legend i.accepted { background: var(--accepted); } .legend i.refused { background: var(--refused); } .legend i.unknown { background: var(--unknown); }
.u-legend { font-size: 16px; text-align: left; padding-left: 110px; } .uplot:not(:hover) .u-legend { visibility: hidden; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th, td { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid var(--grid); }
.number { text-align: right; font-variant-numeric: tabular-nums; } pre { font-size: 18px; overflow-x: auto; }
`;
