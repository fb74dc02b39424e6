/** The tables of runs and races, for an 80-column terminal. */
import Table from 'cli-table3';
import type { Language } from '../../texts/texts.ts';
import { serialPairs } from '../drills/demo-plan.ts';
import type { RunResult } from '../drills/run-rung.ts';
import type { RaceResult } from '../play/race-verdict.ts';
import { verdictWords } from './verdict-words.ts';

const none = Object.fromEntries(
  [
    'top',
    'bottom',
    'left',
    'right',
    'mid',
    'top-mid',
    'top-left',
    'top-right',
    'bottom-mid',
    'bottom-left',
  ]
    .concat(['bottom-right', 'left-mid', 'mid-mid', 'right-mid'])
    .map((part) => [part, '']),
);

/** Columns with one space between them, and no lines. */
export function plainTable(head: string[], rows: string[][], rightFrom = 1): string {
  const colAligns = head.map((_, index) =>
    index < rightFrom ? ('left' as const) : ('right' as const),
  );
  const style = { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true };
  const table = new Table({ head, colAligns, style, chars: { ...none, middle: ' ' } });
  table.push(...rows);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const mark = (asClaimed: boolean): string => (asClaimed ? '✓' : '✗');
const on = ({ instances, balancer }: RunResult): string =>
  `${instances}${balancer === 'cluster' ? '*' : ''}`;

export const { legend, costLegend } = verdictWords.en;

/** The sales, and the audit's verdict on them. */
export function runTable(results: readonly RunResult[], language: Language = 'en'): string {
  const { runHead, verdicts } = verdictWords[language];
  const rows = results.map((result) => {
    const { rung, attempts, orders, stockLeft, oversoldBy, usersWithTwoOrders, verdict } = result;
    const answers = `${attempts.accepted}/${attempts.refused}/${attempts.unknown}`;
    const counts = [orders, stockLeft, oversoldBy, usersWithTwoOrders].map(String);
    return [rung, on(result), answers, ...counts, verdicts[verdict], mark(result.asClaimed)];
  });
  return plainTable([...runHead], rows);
}

/** The cost of each run. */
export function costTable(results: readonly RunResult[], language: Language = 'en'): string {
  const rows = results.map((result) => {
    const { rung, ordersPerSecond, latencyMs, refusedBecause, retried } = result;
    const lost = refusedBecause['conflict'] ?? 0;
    return [
      rung,
      on(result),
      ...[ordersPerSecond, latencyMs.p50, latencyMs.p99, lost, retried].map(String),
    ];
  });
  return plainTable([...verdictWords[language].costHead], rows);
}

/** The cost of serial sales: each rung beside one that does the same concurrently. */
export function serialTable(results: readonly RunResult[]): string {
  const rate = (wanted: string) =>
    results.find(({ rung }) => rung === wanted)?.ordersPerSecond ?? Number.NaN;
  const rows = results.map((result) => {
    const { rung, ordersPerSecond, latencyMs } = result;
    const pair = serialPairs.find(({ serial }) => serial === rung);
    const slower = pair ? `${(rate(pair.beside) / ordersPerSecond).toFixed(1)} × slower` : '';
    return [
      rung,
      on(result),
      ...[ordersPerSecond, latencyMs.p50, latencyMs.p99].map(String),
      slower,
    ];
  });
  const [{ users, workMs } = { users: 0, workMs: 0 }] = results;
  return `${plainTable(['rung', 'on', 'orders/s', 'p50', 'p99', 'cost of serial'], rows)}

${users} different users at once, one request each, stock for all, ${workMs} ms of work`;
}

/** Each race, on the rung with the bug and on the next rung. */
export function raceTable(results: readonly RaceResult[]): string {
  const head = ['race', 'rung', 'verdict', 'ok'];
  return plainTable(
    head,
    results.map(({ race, rung, verdict, asClaimed }) => [race, rung, verdict, mark(asClaimed)]),
    2,
  );
}

/** All tables of a demo: sales, cost, and serial beside concurrent sales. */
export function tablesText(results: readonly RunResult[], serial: readonly RunResult[]): string {
  const parts = [runTable(results), legend, costTable(results), costLegend];
  return [...parts, ...(serial.length > 0 ? [serialTable(serial)] : [])].join('\n\n');
}
