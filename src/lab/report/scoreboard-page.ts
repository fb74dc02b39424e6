/** The scoreboard as one HTML page that needs no other file; each cell has its sentence. */
import { html, raw } from 'hono/html';
import { agreement, type Cell, worstOutcome } from '../scoreboard/cell.ts';
import { faultText, outageFaults, safetyFaults } from '../scoreboard/columns.ts';
import {
  cellSentence,
  countsText,
  markLegend,
  outageLegend,
  outageMark,
  type Scoreboard,
  safetyMark,
  scoreRows,
} from './scoreboard-grid.ts';

export function scoreboardPage({ runs, machine, cells }: Scoreboard): string {
  const rows = scoreRows(cells);
  const time = runs.at(-1)?.time ?? '';
  const isClaimed = cells.every((cell) => agreement(cell) === 'yes');
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Scoreboard, ${time}</title>
<style>${raw(style)}</style>
<h1>Which lock survives what <small>${time}</small></h1>
<p class="${isClaimed ? 'held' : 'wrong'}"><strong>${countsText(cells)}.</strong></p>
<p>Point at a cell for what was seen there.</p>
<h2>Played as races: is the sale right?</h2>
<div class="wide"><table class="safety">
<tr><th></th>${safetyFaults.map((fault) => html`<th class="fault" title="${faultText(fault)}"><span>${fault}</span></th>`)}</tr>
${rows.map(
  ({
    rung,
    safety,
  }) => html`<tr><th>${rung}</th>${safety.map((cell) => scoreCell(cell, safetyMark(cell)))}</tr>
`,
)}</table></div>
${legendList(markLegend)}
<h2>Under a steady load: does it sell on?</h2>
<div class="wide"><table>
<tr><th></th><th>needs</th>${outageFaults.map(({ name }) => html`<th title="${faultText(name)}">${name.replace('-', ' ')}</th>`)}</tr>
${rows.map(
  ({
    rung,
    needs,
    outages,
  }) => html`<tr><th>${rung}</th><td>${needs}</td>${outages.map((cell) => scoreCell(cell, outageMark(cell)))}</tr>
`,
)}</table></div>
${legendList(outageLegend)}
<h2>The faults</h2>
<dl>${safetyFaults.map((fault) => html`<dt>${fault}</dt><dd>${faultText(fault)}</dd>`)}</dl>
<h2>Repeat it</h2>
<pre>${runs.map(({ command }) => command).join('\n')}</pre>
<h2>Machine and versions</h2>
<ul>${Object.entries(machine).map(([name, value]) => html`<li>${name}: ${value}</li>`)}</ul>
</html>
`;
  return String(page);
}

const scoreCell = (cell: Cell | null, mark: string) =>
  cell === null
    ? html`<td></td>`
    : html`<td class="${cellClass(cell)}" title="${cell.rung} under ${cell.fault}: ${cellSentence(cell)}">${mark}</td>`;

/** An outage is coloured by whether it sold on. */
function cellClass(cell: Cell): string {
  const claim = agreement(cell) === 'no' ? ' surprise' : '';
  const outcome = worstOutcome(cell);
  const isAway = cell.plays.some(({ cost }) => cost && !cost.soldOn);
  return `${isAway && outcome === 'held' ? 'away' : outcome}${claim}`;
}

const legendList = (lines: readonly (readonly [string, string])[]) =>
  html`<dl>${lines.map(([mark, meaning]) => html`<dt>${mark}</dt><dd>${meaning}</dd>`)}</dl>`;

const style = `
:root { color-scheme: light dark; --text: #1d2433; --soft: #5b6472; --page: #fff; --grid: #d5dae3;
  --held: #12805c; --wrong: #b3261e; --overlap: #8a5a00; --stuck: #8e3bb8; --away: #5b6472;
  --held-back: #e3f4ec; --wrong-back: #fbe2e0; --overlap-back: #fff0cf; --stuck-back: #f3e3fa; --away-back: #eceff4; }
@media (prefers-color-scheme: dark) { :root { --text: #eef1f6; --soft: #aab3c2; --page: #12161e; --grid: #39424f;
  --held: #4fd6a5; --wrong: #ff8a80; --overlap: #f2b632; --stuck: #d5a6f5; --away: #c3cad6;
  --held-back: #12302a; --wrong-back: #43191a; --overlap-back: #3b2e0c; --stuck-back: #33203f; --away-back: #262d39; } }
body { font: 17px/1.45 system-ui, sans-serif; margin: 1.2rem auto; max-width: 84rem; padding: 0 1rem; color: var(--text); background: var(--page); }
h1 { margin: 0; } h1 small { font-weight: 400; color: var(--soft); font-size: 1rem; } h2 { margin: 1.8rem 0 .5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th { text-align: left; font-weight: 600; white-space: nowrap; padding: .25rem .8rem .25rem 0; }
td { text-align: center; padding: .25rem .5rem; border: 1px solid var(--grid); min-width: 2.1rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.fault { height: 14rem; vertical-align: bottom; padding: 0; } th.fault span { display: block; width: 2.9rem; line-height: 2.9rem; writing-mode: vertical-rl; transform: rotate(180deg); font-weight: 400; }
.held { color: var(--held); } .wrong { color: var(--wrong); } td.held { background: var(--held-back); } td.wrong { background: var(--wrong-back); font-weight: 600; }
td.overlap { color: var(--overlap); background: var(--overlap-back); } td.stuck { color: var(--stuck); background: var(--stuck-back); }
td.away { color: var(--away); background: var(--away-back); } td.surprise { outline: 3px solid var(--wrong); outline-offset: -3px; font-weight: 700; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .8rem 0; } dt { font-weight: 600; } dd { margin: 0; }
pre { font-size: 16px; overflow-x: auto; }
`;
