/** The demo's output: one result at a time, for an 80-column terminal. */
import { type Language, texts } from '../../ladder/texts/texts.ts';
import type { OrdersOfRung } from '../choices/all-orders.ts';
import type { defaults } from '../drills/demo-plan.ts';
import type { Run, RunResult } from '../drills/run-rung.ts';
import type { RaceResult } from '../races/race-verdict.ts';
import { failedFindings } from './sentences.ts';
import { headlineTable } from './story-lines.ts';
import { wrap } from './wrap.ts';

export const demoHead = ({
  users,
  stock,
  requestsPerEagerUser,
  workMs,
}: typeof defaults): string => `
${wrap(`Every rush: ${users} users want ${stock} vouchers. Every tenth user is eager and sends ${requestsPerEagerUser} requests at once; each sale works ${workMs} ms between its check and its write.`, 79, '')}

on: instances behind nginx; * behind Node's own cluster    twice: users with two
orders    ✓ the verdict is what the ladder claims, ✗ it is not

${line(['', 'rung', 'on', 'sold', 'twice', 'verdict', ''])}`;

const widths = [2, 27, 4, 5, 6];

/** Cells in columns; numbers to the right. */
function line(cells: readonly string[]): string {
  const padded = cells.map((cell, index) => {
    const width = widths[index];
    if (width === undefined) return cell;
    return index < 2 ? cell.padEnd(width) : cell.padStart(width);
  });
  return padded.slice(0, 5).join('') + ['', ...padded.slice(5)].join('  ').trimEnd();
}

/** One line for a run, and below it the lesson when the rung is a new one. */
export function runLines(
  run: Run,
  before: Run | undefined,
  chapter: number,
  language: Language,
): string {
  const { rung, retries, stock, orders, usersWithTwoOrders, verdict, asClaimed } = run.result;
  const isNew = before?.result.rung !== rung;
  const name = retries > 0 ? `  with ${retries} retries` : rung;
  const result = line([
    isNew ? String(chapter) : '',
    isNew ? name : name.replace(rung, ''),
    on(run.result),
    `${orders}${orders > stock ? '!' : ''}`,
    String(usersWithTwoOrders),
    verdict,
    asClaimed ? '✓' : `✗ claim: ${run.claim.verdict}`,
  ]);
  const lesson = isNew ? [wrap(`    ${texts[language].rungs[rung].lesson}`, 79, '    ')] : [];
  return [result, ...lesson, ...(asClaimed ? [] : failedFindings(run))].join('\n');
}

const on = ({ instances, balancer }: RunResult): string =>
  `${instances}${balancer === 'cluster' ? '*' : ''}`;

export const ordersHead = `
Two buyers in two processes, in every order of their steps: how many orders break
a promise, and one that does. Play it: npx lockstep race --choices ABAB --rung …
`;

/** `mutex-per-user  12 of 20 orders ✓  AABBAB` */
export function ordersLine({ rung, orders, broken, verdict, asClaimed }: OrdersOfRung): string {
  if (verdict === 'unknown') return `${rung.padEnd(27)}        ? its orders could not be played`;
  const count = `${broken.length} of ${orders}`.padStart(8);
  const mark = asClaimed ? '✓' : '✗ not as claimed';
  return `${rung.padEnd(27)} ${count} ${mark}  ${broken[0] ?? ''}`.trimEnd();
}

/** `lost-update  read-then-write  violated ✓  2 orders for 1 in stock` */
export function raceLine({
  race,
  rung,
  verdict,
  asClaimed,
  claim,
  evidence: text,
}: RaceResult): string {
  const mark = asClaimed ? '✓' : `✗ claim: ${claim}`;
  const result = `${race.padEnd(25)} ${rung.padEnd(26)} ${verdict.padEnd(8)} ${mark}`;
  return text === '' ? result : `${result}\n${wrap(`    ${text}`, 79, '    ')}`;
}

/** How the demo ended, or how far it came. */
export function headline(
  runs: readonly RunResult[],
  all: readonly { asClaimed: boolean }[],
  { folder, planned, language }: { folder: string; planned: number; language: Language },
): string {
  const count = all.filter(({ asClaimed }) => asClaimed).length;
  const stopped =
    all.length < planned ? `Stopped early: ${all.length} of ${planned} were played. ` : '';
  return `
${headlineTable(runs, language)}

${wrap(`${stopped}${count} of ${all.length} runs, orders and races ended as the ladder claims. Report: ${folder}/index.html`)}`;
}
