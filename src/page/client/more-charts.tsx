/** Two rungs in one picture, and a lane for each instance. */
import type uPlot from 'uplot';
import {
  axes,
  type Columns,
  colour,
  common,
  latencyOptions,
  none,
  type Options,
  Plot,
  type PlotProps,
  shortMs,
  stepped,
  stepsTime,
} from './plot.tsx';
import { page } from './texts.ts';

/** Colour and dash: a line is known without its colour. */
const lines = [
  { name: 'blue', dash: [] },
  { name: 'wait', dash: [10, 5] },
] as const;
type Line = (typeof lines)[number];

function lineOf(label: string, { name, dash }: Line, textOf: (value: number) => string) {
  return {
    ...{ label, stroke: colour(name), width: 3, dash: [...dash], points: { show: false } },
    ...(stepped && { paths: stepped }),
    value: (_: uPlot, value: number | null) => (value === null ? '–' : textOf(value)),
  };
}

/** A step is as long as its second: the last one, too. */
function untilTheEnd(
  seconds: readonly number[],
  columns: readonly (readonly (number | null)[])[],
): Columns {
  const all = columns.map((column) => [...column, column.at(-1) ?? null]);
  return [[...seconds, seconds.length], ...all] as Columns;
}

/** What each rung sold in a second, and how long its buyers waited. */
export function Compared({ series: { seconds, byLoad }, width }: PlotProps) {
  const { words } = page.value;
  const drawn = byLoad.slice(0, lines.length).map((load, index) => ({
    ...load,
    line: lines[index] ?? lines[0],
  }));
  const sold = untilTheEnd(
    seconds,
    drawn.map(({ accepted }) => accepted),
  );
  const waited = untilTheEnd(
    seconds,
    drawn.map(({ p99Ms }) => p99Ms),
  );
  const soldOptions = (): Options => ({
    ...common,
    scales: { x: stepsTime, y: { range: (_, __, max) => [0, Math.max(1, none(max) * 1.08)] } },
    axes: axes({ label: words.salesPerSecond }),
    series: [{ label: words.second }, ...drawn.map(({ name, line }) => lineOf(name, line, String))],
  });
  const waitedOptions = (): Options => ({
    ...latencyOptions(stepsTime),
    series: [
      { label: words.second },
      ...drawn.map(({ name, line }) => lineOf(name, line, (ms) => shortMs(Math.round(ms)))),
    ],
  });
  return (
    <div data-compared>
      <p class="legend">
        {drawn.map(({ name, line }) => (
          <span key={name}>
            <i class={`line ${line.name}`} /> {name}
          </span>
        ))}
      </p>
      <Plot options={soldOptions} columns={sold} {...{ width }} height={200} />
      <Plot options={waitedOptions} columns={waited} {...{ width }} height={180} />
    </div>
  );
}

const laneHeight = 34;
const laneShare = 0.85;

/** The share of the busiest second, one lane above the other. */
export function ByInstance({ series: { seconds, byInstance }, width }: PlotProps) {
  const { words } = page.value;
  const names = byInstance.map(({ name }) => name);
  const most = Math.max(1, ...byInstance.flatMap(({ sold }) => sold.map(none)));
  const laneOf = (index: number) => names.length - 1 - index;
  const columns = untilTheEnd(
    seconds,
    byInstance.map(({ sold }, index) =>
      sold.map((value) => (value === null ? null : laneOf(index) + (laneShare * value) / most)),
    ),
  );
  const options = (): Options => ({
    ...common,
    scales: { x: stepsTime, y: { range: () => [0, names.length] } },
    axes: axes({
      label: words.byInstance,
      splits: () => names.map((_, index) => laneOf(index) + laneShare / 2),
      values: () => names,
      grid: { show: false },
    }),
    series: [
      { label: words.second },
      ...byInstance.map(({ name, sold }, index) => ({
        ...{ label: name, fill: colour('blue'), stroke: colour('blue'), width: 0 },
        ...{ points: { show: false }, fillTo: laneOf(index) },
        ...(stepped && { paths: stepped }),
        value: (_: uPlot, __: unknown, ___: unknown, at: number | null) =>
          at === null ? '–' : String(sold[at] ?? '–'),
      })),
    ],
  });
  const height = names.length * laneHeight + 50;
  return <Plot key={names.join()} {...{ options, columns, width, height }} />;
}
