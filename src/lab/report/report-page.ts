/** A run folder's report as one HTML page, with a link to the page of each race. */
import { html, raw } from 'hono/html';
import { ladder } from '../../ladder/rungs.ts';
import { texts } from '../../ladder/texts/texts.ts';
import type { Run } from '../drills/run-rung.ts';
import type { RaceResult } from '../races/race-verdict.ts';
import type { Report } from './report.ts';
import { auditLines, claimSentence, proofLines } from './sentences.ts';
import { headlineTable } from './story-lines.ts';
import { costLegend, costTable, serialTable } from './tables.ts';

export const racePageName = ({ race, rung }: Pick<RaceResult, 'race' | 'rung'>): string =>
  `race-${race}-${rung}.html`;

export function reportPage(report: Report): string {
  const { command, time, machine, runs, serial, races, isRunning } = report;
  const results = runs.map(({ result }) => result);
  const all = [...results, ...serial.map(({ result }) => result), ...races];
  const isGood = all.every(({ asClaimed }) => asClaimed);
  const headline = headlineTable(results);
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${isRunning ? html`<meta http-equiv="refresh" content="5">` : ''}
<title>Lockstep, ${time}</title>
<style>${raw(style)}</style>
<h1>Lockstep <small>${time}</small></h1>
<p><code>${command}</code></p>
<p class="${isGood ? 'held' : 'violated'}">${countSentence(all, report)}</p>
${headline.includes('\n') ? html`<pre class="headline">${headline}</pre>` : ''}
<h2>Rushes</h2>
<table>
<tr><th>ch</th><th>rung</th><th>instances</th><th>accepted</th><th>refused</th><th>sold</th><th>oversold</th><th>users with two</th><th>verdict</th><th>as claimed</th></tr>
${runs.map(runRow)}
</table>
${races.length > 0 ? html`<h2>Races</h2><table><tr><th>race</th><th>rung</th><th>verdict</th><th>as claimed</th><th>evidence</th></tr>${races.map(raceRow)}</table>` : ''}
<h2>Cost</h2>
<pre>${costTable(results)}

${costLegend}</pre>
${serial.length > 0 ? html`<pre>${serialTable(serial.map(({ result }) => result))}</pre>` : ''}
<h2>Evidence</h2>
${runs.map(runEvidence)}
<h2>Machine and versions</h2>
<ul>${Object.entries(machine).map(([name, value]) => html`<li>${name}: ${value}</li>`)}</ul>
</html>
`;
  return String(page);
}

function countSentence(
  all: readonly { asClaimed: boolean }[],
  { planned, isRunning }: Pick<Report, 'planned' | 'isRunning'>,
) {
  const count = all.filter(({ asClaimed }) => asClaimed).length;
  const ended = html`<strong>${count} of ${all.length}</strong> runs and races ended as the ladder claims.`;
  if (isRunning) return html`${ended} ${planned - all.length} more follow.`;
  return all.length < planned
    ? html`${ended} The command was stopped: ${planned - all.length} more were planned.`
    : ended;
}

const anchor = ({ result }: Run): string =>
  `${result.rung}-${result.instances}-${result.balancer}-${result.retries}`;
const mark = (asClaimed: boolean): string => (asClaimed ? '✓' : '✗');

function runRow(run: Run) {
  const {
    rung,
    instances,
    balancer,
    retries,
    attempts,
    orders,
    oversoldBy,
    usersWithTwoOrders,
    verdict,
  } = run.result;
  const note = retries > 0 ? `, ${retries} retries` : '';
  return html`<tr class="${verdict}">
<td>${ladder[rung].chapter}</td>
<td><a href="#${anchor(run)}">${rung}</a>${note}<br><small>${texts.en.rungs[rung].lesson}</small></td>
<td>${instances}${balancer === 'cluster' ? ' (Node’s cluster)' : ''}</td>
<td>${attempts.accepted}</td><td>${attempts.refused}</td><td>${orders}</td><td>${oversoldBy}</td><td>${usersWithTwoOrders}</td>
<td class="verdict">${verdict}</td><td>${mark(run.result.asClaimed)}</td>
</tr>`;
}

const raceRow = (race: RaceResult) => html`<tr class="${race.verdict}">
<td><a href="${racePageName(race)}">${race.race}</a></td><td>${race.rung}</td>
<td class="verdict">${race.verdict}</td><td>${mark(race.asClaimed)}</td><td>${race.evidence}</td>
</tr>`;

const runEvidence = (run: Run) => html`<details id="${anchor(run)}">
<summary>${claimSentence(run)}</summary>
<pre>${[auditLines(run.audit), ...proofLines(run)].join('\n')}</pre>
</details>`;

const style = `
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1d2433; background: #fff; }
h1 small { font-weight: 400; color: #5b6472; font-size: 1rem; } h2 { margin-top: 2rem; }
table { border-collapse: collapse; } th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e3e7ee; }
td small { color: #5b6472; } pre { font-size: 14px; overflow-x: auto; } .headline { font-size: 17px; }
.violated strong, .violated .verdict { color: #b3261e; font-weight: 600; } .held strong, .held .verdict { color: #1b6e3c; }
.unknown .verdict { color: #8a5a00; } details { margin: .4rem 0; }
`;
