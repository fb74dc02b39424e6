/**
 * What the page shows of published runs: the files of docs/data/. `lockstep docs` writes them with
 * the tables of docs/, from the same runs; the build (scripts/page.mjs) reads them.
 */
import type { RungBenchmark } from '../benchmarks/rung-benchmark.ts';
import { outageFaults, safetyFaults } from '../scoreboard/columns.ts';
import { newest, wholeOrders, wholeScoreboard } from './docs.ts';
import { outageMark, type Scoreboard, safetyMark, scoreRows } from './scoreboard-grid.ts';

type Rows = readonly object[];

/** By file; one without a run to take it from is left out. */
export function publishedRows(runsFolder: string): Record<string, Rows> {
  const [orders, board] = [wholeOrders(runsFolder), wholeScoreboard(runsFolder)];
  const ladder = newest(runsFolder, 'bench-ladder', 'bench.json');
  return {
    ...(orders && { 'orders.json': orders.rows.map(orderRow) }),
    ...(board && { 'scoreboard.json': markRows(board) }),
    ...(ladder !== null && { 'sales.json': salesRows(JSON.parse(ladder) as RungBenchmark) }),
  };
}

/** A row in a line. */
export const rowsText = (rows: Rows): string =>
  `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;

const orderRow = ([rung, one, orders, broken]: readonly string[]) => ({
  rung,
  one,
  orders: Number(orders),
  broken: Number(broken),
});

const salesRows = ({ rungs }: RungBenchmark): Rows =>
  rungs.map(({ rung, acceptedPerSecond: { median } }) => ({
    rung,
    salesPerSecond: Math.round(median),
  }));

const markRows = ({ cells }: Scoreboard): Rows =>
  scoreRows(cells).map(({ rung, safety, outages }) => ({
    rung,
    safety: Object.fromEntries(safety.map((cell, at) => [safetyFaults[at], safetyMark(cell)])),
    outages: Object.fromEntries(
      outages.map((cell, at) => [outageFaults[at]?.name, outageMark(cell)]),
    ),
  }));
