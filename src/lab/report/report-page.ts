/** A run folder's report as one HTML page, with a link to the page of each race. */

import { html, raw } from 'hono/html';
import { ladder } from '../../service/ladder/rungs.ts';
import { type Language, texts } from '../../texts/texts.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import type { OrdersOfRung } from '../play/all-orders.ts';
import type { PlayedRace, RaceResult } from '../play/race-verdict.ts';
import { evidenceIn } from '../stage/result.ts';
import { rowTexts } from '../stage/table.ts';
import { colours } from './colours.ts';
import { headlineTable } from './demo-lines.ts';
import { costTable, mark, serialBlocks } from './run-tables.ts';
import { auditLines, claimSentence, proofLines } from './sentences.ts';
import { blocksText, tableText } from './table.ts';
import { verdictWords } from './verdict-words.ts';

export interface RunRecord {
  readonly command: string;
  readonly runs: readonly Run[];
  /** The runs that compare serial sales with concurrent ones. */
  readonly serial?: readonly Run[];
  /** How many orders of two buyers break each rung. */
  readonly orders?: readonly OrdersOfRung[];
  readonly races?: readonly PlayedRace[];
  /** How many runs and races the command plays in all; as many as are here, without it. */
  readonly planned?: number;
}

/** The record, where and when it was made. */
export interface Report extends Required<RunRecord> {
  readonly time: string;
  /** More results follow: the page loads itself again. */
  readonly isRunning: boolean;
  readonly machine: Readonly<Record<string, string>>;
}

export const racesFile = 'races.html';

const en = {
  rushes: 'Rushes',
  orders: 'Orders',
  races: 'Races',
  cost: 'Cost',
  evidence: 'Evidence',
  machine: 'Machine and versions',
  green: 'A verdict is green when the ladder claims it: a weak rung must be violated.',
  runHead: [
    ...['ch', 'rung', 'instances', 'accepted', 'refused', 'sold', 'oversold', 'users with two'],
    ...['verdict', 'as claimed'],
  ],
  interleavings: 'Interleavings',
  everyOne: 'Two buyers in two processes: every interleaving of their steps was played.',
  ordersHead: ['rung', 'interleavings', 'break it', 'as claimed', 'one that breaks it'],
  raceHead: ['race', 'rung', 'verdict', 'as claimed', 'evidence'],
  ended: (count: number, all: number) =>
    html`<strong>${count} of ${all}</strong> runs, interleavings and races ended as the ladder claims.`,
  follow: (count: number) => `${count} more follow.`,
  stopped: (count: number) => `The command was stopped: ${count} more were planned.`,
  retries: (count: number) => `, ${count} retries`,
};

const zh: typeof en = {
  rushes: '抢购',
  orders: '先后顺序',
  races: '竞态',
  cost: '代价',
  evidence: '证据',
  machine: '机器和版本',
  green: '与预期一致就是绿色：弱的方案本来就该违反。',
  runHead: [
    ...['章', '方案', '实例', '受理', '拒绝', '卖出', '超卖', '有两单的用户'],
    ...['结果', '与预期一致'],
  ],
  interleavings: '先后顺序',
  everyOne: '两个进程里的两个买家：步骤的每一种先后顺序都跑过。',
  ordersHead: ['方案', '顺序', '违反', '与预期一致', '其中一种'],
  raceHead: ['竞态', '方案', '结果', '与预期一致', '证据'],
  ended: (count, all) =>
    html`抢购、先后顺序和竞态共 ${all} 次，<strong>${count}</strong> 次与预期一致。`,
  follow: (count) => `还有 ${count} 次。`,
  stopped: (count) => `命令被中断：还有 ${count} 次没有跑。`,
  retries: (count) => `，重试 ${count} 次`,
};

export const reportWords: Readonly<Record<Language, typeof en>> = { en, zh };

const headRow = (names: readonly string[]) =>
  html`<tr>${names.map((name) => html`<th>${name}</th>`)}</tr>`;

export function reportPage(report: Report, language: Language = 'en'): string {
  const { command, time, machine, runs, serial, orders, races, isRunning } = report;
  const results = runs.map(({ result }) => result);
  const all = [...results, ...serial.map(({ result }) => result), ...orders, ...races];
  const say = reportWords[language];
  const page = html`<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
${isRunning ? html`<meta http-equiv="refresh" content="5">` : ''}
<title>Lockstep, ${time}</title>
<style>${raw(style)}</style>
<h1>Lockstep <small>${time}</small></h1>
<p><code>${command}</code></p>
<p class="${all.every(({ asClaimed }) => asClaimed) ? 'expected' : 'surprise'}">${countSentence(all, report, language)}</p>
${headline(results, language)}
<nav>${sections(report, language).map(([id, name]) => html`<a href="#${id}">${name}</a> `)}</nav>
<h2 id="rushes">${say.rushes}</h2>
<p><small>${say.green}</small></p>
<div class="wide"><table>
${headRow(say.runHead)}
${runs.map((run) => runRow(run, language))}
</table></div>
${orders.length > 0 ? html`<h2 id="orders">${say.interleavings}</h2><p><small>${say.everyOne}</small></p><div class="wide"><table>${headRow(say.ordersHead)}${orders.map((each) => orderRow(each, command))}</table></div>` : ''}
${races.length > 0 ? html`<h2 id="races">${say.races}</h2><div class="wide"><table>${headRow(say.raceHead)}${races.map((race) => raceRow(race, language))}</table></div>` : ''}
<h2 id="cost">${say.cost}</h2>
<pre>${tableText(costTable(results), language)}</pre>
${serial.length > 0 ? html`<pre>${serialText(serial, language)}</pre>` : ''}
<h2 id="evidence">${say.evidence}</h2>
${runs.map((run) => runEvidence(run, language))}
<h2 id="machine">${say.machine}</h2>
<ul>${Object.entries(machine).map(([name, value]) => html`<li>${name}: ${value}</li>`)}</ul>
</html>
`;
  return String(page);
}

function headline(results: readonly RunResult[], language: Language) {
  const table = headlineTable(results);
  if (table.rows.length === 0) return '';
  const [head = [], ...rows] = rowTexts(language, [table.head, ...table.rows]);
  return html`<table class="headline">
${headRow(head)}
${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</table>`;
}

const serialText = (serial: readonly Run[], language: Language): string =>
  blocksText(serialBlocks(serial.map(({ result }) => result)), language);

function sections(
  { orders, races }: Report,
  language: Language,
): (readonly [id: string, name: string])[] {
  const say = reportWords[language];
  return [
    ['rushes', say.rushes],
    ...(orders.length > 0 ? [['orders', say.orders] as const] : []),
    ...(races.length > 0 ? [['races', say.races] as const] : []),
    ['cost', say.cost],
    ['evidence', say.evidence],
    ['machine', language === 'en' ? 'Machine' : say.machine],
  ];
}

function countSentence(
  all: readonly { asClaimed: boolean }[],
  { planned, isRunning }: Pick<Report, 'planned' | 'isRunning'>,
  language: Language,
) {
  const say = reportWords[language];
  const count = all.filter(({ asClaimed }) => asClaimed).length;
  const ended = say.ended(count, all.length);
  const left = planned - all.length;
  if (isRunning) return html`${ended} ${say.follow(left)}`;
  return left > 0 ? html`${ended} ${say.stopped(left)}` : ended;
}

const anchor = ({ result }: Run): string =>
  `${result.rung}-${result.instances}-${result.balancer}-${result.retries}`;

/** What the ladder claims is expected, also a violation. */
const classOf = ({ verdict, asClaimed }: Pick<RaceResult, 'verdict' | 'asClaimed'>): string => {
  if (verdict === 'unknown') return 'unknown';
  return asClaimed ? 'expected' : 'surprise';
};

function runRow(run: Run, language: Language) {
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
  const say = reportWords[language];
  const note = retries > 0 ? say.retries(retries) : '';
  return html`<tr class="${classOf(run.result)}">
<td>${ladder[rung].chapter}</td>
<td><a href="#${anchor(run)}">${rung}</a>${note}<br><small>${texts[language].rungs[rung].lesson}</small></td>
<td>${instances}${balancer === 'cluster' ? verdictWords[language].cluster : ''}</td>
<td>${attempts.accepted}</td><td>${attempts.refused}</td><td>${orders}</td><td>${oversoldBy}</td><td>${usersWithTwoOrders}</td>
<td class="verdict">${texts[language].verdicts[verdict]}</td><td>${mark(run.result.asClaimed)}</td>
</tr>`;
}

/** On the database of the report's command. */
const orderRow = (each: OrdersOfRung, command: string) => html`<tr class="${classOf(each)}">
<td>${each.rung}</td><td>${each.orders}</td><td class="verdict">${each.broken.length}</td><td>${mark(each.asClaimed)}</td><td>${each.broken[0] ? html`<code>npx lockstep race --choices ${each.broken[0]} --rung ${each.rung}${/ --database \w+/.exec(command)?.[0] ?? ''}</code>` : ''}</td>
</tr>`;

const raceRow = (race: RaceResult, language: Language) => html`<tr class="${classOf(race)}">
<td><a href="${racesFile}#race-${race.race}-${race.rung}">${race.race}</a></td><td>${race.rung}</td>
<td class="verdict">${texts[language].verdicts[race.verdict]}</td><td>${mark(race.asClaimed)}</td><td>${evidenceIn(language, race)}</td>
</tr>`;

const runEvidence = (run: Run, language: Language) => html`<details id="${anchor(run)}">
<summary>${claimSentence(run, language)}</summary>
<pre>${[auditLines(run.audit, language), ...proofLines(run, language)].join('\n')}</pre>
</details>`;

const style = `
${colours}
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 small { font-weight: 400; color: var(--quiet); font-size: 1rem; } h2 { margin-top: 2rem; } nav { margin-top: 1.5rem; } nav a { margin-right: .8rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td small { color: var(--quiet); } pre { font-size: 14px; overflow-x: auto; } .headline { font-size: 17px; margin: 1rem 0; } .headline td:nth-child(n + 2) { font-variant-numeric: tabular-nums; }
.surprise strong, .surprise .verdict { color: var(--bad); font-weight: 600; } .expected strong, .expected .verdict { color: var(--good); }
.unknown .verdict { color: var(--doubt); } details { margin: .4rem 0; }
@media (max-width: 40rem) { body { margin: 1rem auto; } .headline { font-size: 15px; } .headline th, .headline td { padding: .3rem .3rem; } }
`;
