/** The table of runs, for an 80-column terminal. */
import Table from 'cli-table3';
import type { RunResult } from '../drills/run-rung.ts';

const none = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid', 'top-mid', 'top-left', 'top-right', 'bottom-mid', 'bottom-left']
    .concat(['bottom-right', 'left-mid', 'mid-mid', 'right-mid'])
    .map((part) => [part, '']),
);

/** Columns with one space between them, and no lines. */
export function plainTable(head: string[], rows: string[][], rightFrom = 1): string {
  const colAligns = head.map((_, index) => (index < rightFrom ? ('left' as const) : ('right' as const)));
  const style = { 'padding-left': 0, 'padding-right': 0, head: [], border: [], compact: true };
  const table = new Table({ head, colAligns, style, chars: { ...none, middle: ' ' } });
  table.push(...rows);
  return table.toString();
}

const head = ['rung', 'on', 'yes/no/?', 'orders', 'left', 'over', 'twice', '/s', 'p50/p99', 'verdict', 'ok'];

export const legend = `on       instances behind nginx; with * behind Node's own cluster
yes/no/? attempts that were accepted / refused / of unknown outcome
over     orders sold beyond the stock        twice    users with two orders
/s       orders recorded per second          p50/p99  answer times, ms
verdict  the audit's, from MySQL, Redis and what every client was told
ok       ✓ the verdict is what the ladder claims, ✗ it is not`;

export const runTable = (results: readonly RunResult[]): string => plainTable(head, results.map(row));

function row(result: RunResult): string[] {
  const { attempts, latencyMs } = result;
  return [
    result.rung,
    `${result.instances}${result.balancer === 'cluster' ? '*' : ''}`,
    `${attempts.accepted}/${attempts.refused}/${attempts.unknown}`,
    String(result.orders),
    String(result.stockLeft),
    String(result.oversoldBy),
    String(result.usersWithTwoOrders),
    String(result.ordersPerSecond),
    `${Math.round(latencyMs.p50)}/${Math.round(latencyMs.p99)}`,
    result.verdict,
    result.asClaimed ? '✓' : '✗',
  ];
}
