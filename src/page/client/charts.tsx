/** What the clients of a run saw: a bar for each server, the answers of each second, and p99. */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useWidth } from './lanes.tsx';
import {
  type Bar,
  type Column,
  type LoadSeries,
  marksOf,
  type RunView,
  runSeries,
  type Series,
} from './run-model.ts';
import { page } from './texts.ts';

const barHeight = 30;

export function Charts({ run }: { run: RunView }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const series = runSeries({ seconds: run.seconds, marks: marksOf(run) });
  const hasLoad = series.bars.length > 0;
  const areCompared = series.byLoad.length > 1;
  return (
    <div ref={box} class="charts">
      {hasLoad && <States series={series} width={width} />}
      {areCompared && <Compared series={series} width={width} />}
      {hasLoad && <Legend />}
      {hasLoad && <Answers series={series} width={width} />}
      {hasLoad && !areCompared && <Latency series={series} width={width} />}
      {series.byInstance.length > 0 && <ByInstance series={series} width={width} />}
    </div>
  );
}

function Legend() {
  const { words, counts } = page.value;
  return (
    <p class="legend">
      {(['accepted', 'refused', 'unknown'] as const).map((outcome) => (
        <span key={outcome} title={outcome === 'unknown' ? words.unknownAnswer : undefined}>
          <i class={outcome} /> {counts[outcome]}
        </span>
      ))}
    </p>
  );
}

/** A thin line is a server that runs; a bar is what was done to it. */
function States({ series: { bars, seconds }, width }: PlotProps) {
  const rows = [...new Set(bars.map(({ row }) => row))];
  const end = seconds.length;
  const x = (second: number) =>
    left + ((width - left - right) * Math.min(second, end)) / Math.max(1, end);
  return (
    <svg class="states" width={width} height={rows.length * barHeight + 4} aria-hidden="true">
      {rows.map((row, index) => (
        <g key={row} transform={`translate(0 ${index * barHeight})`}>
          <text x={left - 10} y="20" text-anchor="end">
            {fitted(row === 'load' ? page.value.words.load : row)}
          </text>
          {bars.some((bar) => bar.row === row && bar.state !== 'load') && (
            <path class="up" d={`M${left} 15H${width - right}`} />
          )}
          {bars
            .filter((bar) => bar.row === row)
            .map((bar, at) => (
              <StateBar key={at} bar={bar} x={x} />
            ))}
        </g>
      ))}
    </svg>
  );
}

const fitted = (text: string): string => (text.length > 15 ? `${text.slice(0, 14)}…` : text);

function StateBar({ bar, x }: { bar: Bar; x: (second: number) => number }) {
  const { state, text, fromSecond, toSecond } = bar;
  const from = x(fromSecond);
  const width = Math.max(4, x(toSecond) - from);
  const states: Readonly<Record<string, string>> = page.value.partStates;
  const words = states[state] ?? text;
  return (
    <g class={`bar ${state}`} data-bar={`${bar.row} ${state}`}>
      <title>{words}</title>
      <rect x={from} y="3" width={width} height={barHeight - 6} rx="3" />
      {words.length * 9 + 12 < width && (
        <text x={from + 6} y="20">
          {words}
        </text>
      )}
    </g>
  );
}

const stacked = uPlot.paths.bars?.({ align: 1, size: [0.94, Number.POSITIVE_INFINITY] });

const filled = (
  label: string,
  name: string,
  own: Column,
  paths: uPlot.Series.PathBuilder | undefined,
): uPlot.Series => ({
  label,
  fill: colour(name),
  stroke: colour(name),
  width: 0,
  points: { show: false },
  ...(paths && { paths }),
  value: toldOf(own),
});

/** Stacked: the bars of a later column cover the lower part of those before it. */
function Answers({ series: { seconds, accepted, refused, unknown }, width }: PlotProps) {
  const withAll = (...others: readonly Column[]): Column =>
    accepted.map((value, at) =>
      value === null ? null : others.reduce((sum, other) => sum + none(other[at]), value),
    );
  const { words, counts } = page.value;
  const chart = (): Chart => ({
    x: time,
    y: fromZero,
    axis: { label: words.answersPerSecond },
    series: [
      filled(counts.unknown, 'unknown', unknown, stacked),
      filled(counts.refused, 'wait', refused, stacked),
      filled(counts.accepted, 'held', accepted, stacked),
    ],
  });
  const drawn = [seconds, withAll(refused, unknown), withAll(refused), accepted];
  const columns = drawn.map((column) => [...column]) as Columns;
  return <Plot {...{ chart, columns, width }} height={220} />;
}

function Latency({ series: { seconds, p99Ms }, width }: PlotProps) {
  const chart = () => {
    const points = { show: true, size: 6, fill: colour('blue') };
    return latencyChart(time, [{ ...lineOf('p99', lines[0], roundMs), points }]);
  };
  return <Plot {...{ chart, columns: [[...seconds], [...p99Ms]], width }} height={180} />;
}

/** Colour and dash: a line is known without its colour. */
const lines = [
  { name: 'blue', dash: [] },
  { name: 'wait', dash: [10, 5] },
] as const;
type Line = (typeof lines)[number];

const stepped = uPlot.paths.stepped?.({ align: 1 });

const lineOf = (label: string, { name, dash }: Line, textOf: (value: number) => string) => ({
  label,
  stroke: colour(name),
  width: 3,
  dash: [...dash],
  points: { show: false },
  ...(stepped && { paths: stepped }),
  value: (_: uPlot, value: number | null) => (value === null ? '–' : textOf(value)),
});

/** A step is as long as its second: the last one, too. */
const untilTheEnd = (seconds: readonly number[], columns: readonly Column[]): Columns => [
  [...seconds, seconds.length],
  ...columns.map((column) => [...column, column.at(-1) ?? null]),
];

/** What each rung sold in a second, and how long its buyers waited. */
function Compared({ series: { seconds, byLoad }, width }: PlotProps) {
  const drawn = byLoad
    .slice(0, lines.length)
    .map((load, index) => ({ ...load, line: lines[index] ?? lines[0] }));
  const linesOf = (textOf: (value: number) => string) =>
    drawn.map(({ name, line }) => lineOf(name, line, textOf));
  const columnsOf = (column: (load: LoadSeries) => Column) =>
    untilTheEnd(seconds, drawn.map(column));
  const sold = (): Chart => ({
    x: stepsTime,
    y: fromZero,
    axis: { label: page.value.words.salesPerSecond },
    series: linesOf(String),
  });
  const waited = () => latencyChart(stepsTime, linesOf(roundMs));
  return (
    <div data-compared>
      <p class="legend">
        {drawn.map(({ name, line }) => (
          <span key={name}>
            <i class={`line ${line.name}`} /> {name}
          </span>
        ))}
      </p>
      <Plot
        chart={sold}
        columns={columnsOf(({ accepted }) => accepted)}
        {...{ width }}
        height={200}
      />
      <Plot chart={waited} columns={columnsOf(({ p99Ms }) => p99Ms)} {...{ width }} height={180} />
    </div>
  );
}

const laneHeight = 34;
const laneShare = 0.85;

/** The share of the busiest second, one lane above the other. */
function ByInstance({ series: { seconds, byInstance }, width }: PlotProps) {
  const names = byInstance.map(({ name }) => name);
  const most = Math.max(1, ...byInstance.flatMap(({ sold }) => sold.map(none)));
  const laneOf = (index: number) => names.length - 1 - index;
  const columns = untilTheEnd(
    seconds,
    byInstance.map(({ sold }, index) =>
      sold.map((value) => (value === null ? null : laneOf(index) + (laneShare * value) / most)),
    ),
  );
  const chart = (): Chart => ({
    x: stepsTime,
    y: { range: () => [0, names.length] },
    axis: {
      label: page.value.words.byInstance,
      splits: () => names.map((_, index) => laneOf(index) + laneShare / 2),
      values: () => names,
      grid: { show: false },
    },
    series: byInstance.map(({ name, sold }, index) => ({
      ...filled(name, 'blue', sold, stepped),
      fillTo: laneOf(index),
    })),
  });
  const height = names.length * laneHeight + 50;
  return <Plot key={names.join()} {...{ chart, columns, width, height }} />;
}

/** Left of every chart, so that one second is one place in all of them. */
const left = 130;
const right = 20;

const colour = (name: string): string =>
  getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();

interface PlotProps {
  readonly series: Series;
  readonly width: number;
}

type Columns = uPlot.AlignedData;

interface Chart {
  readonly x: uPlot.Scale;
  readonly y: uPlot.Scale;
  readonly axis: uPlot.Axis;
  readonly series: readonly uPlot.Series[];
}

interface PlotCanvas {
  /** In the colours and words of now. */
  readonly chart: () => Chart;
  readonly columns: Columns;
  readonly width: number;
  readonly height: number;
}

/** What each chart has to draw. */
const waiting = new Map<object, () => void>();

/** One chart in each frame: all of them would take longer than one. */
function drawInTurn(chart: object, draw: () => void): void {
  if (waiting.size === 0) requestAnimationFrame(drawNext);
  waiting.set(chart, draw);
}

function drawNext(): void {
  const [next] = waiting;
  if (!next) return;
  const [chart, draw] = next;
  waiting.delete(chart);
  draw();
  if (waiting.size > 0) requestAnimationFrame(drawNext);
}

/** Made once; a new second only gives it new columns. Made anew, it has those of now. */
function Plot(plotted: PlotCanvas) {
  const { columns, width, height } = plotted;
  const now = useRef(plotted);
  now.current = plotted;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const { language } = page.value.words;
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const make = () => {
      plot.current?.destroy();
      const { chart, columns, ...size } = now.current;
      const options = { ...optionsOf(chart()), ...size };
      if (box.current) plot.current = new uPlot(options, columns, box.current);
    };
    make();
    dark.addEventListener('change', make);
    return () => {
      dark.removeEventListener('change', make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [language]);
  useEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  useEffect(() => drawInTurn(plot, () => plot.current?.setData(columns)), [columns]);
  return <div ref={box} />;
}

const optionsOf = ({ x, y, axis, series }: Chart): Omit<uPlot.Options, 'width' | 'height'> => ({
  padding: [12, right, 0, 0], // Above: half of a label that stands at the end of its scale.
  cursor: { sync: { key: 'run' }, drag: { x: false, y: false }, points: { show: false } },
  scales: { x, y },
  axes: axes(axis),
  series: [{ label: page.value.words.second }, ...series],
});

const font = '15px system-ui, sans-serif';

function axes(y: uPlot.Axis): uPlot.Axis[] {
  const own = {
    stroke: colour('dim'),
    font,
    labelFont: font,
    labelSize: 22,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 },
  };
  return [
    { ...own, size: 30 },
    { ...own, size: left - 22, ...y },
  ];
}

const none = (value: number | null | undefined): number => value ?? 0;

/** From 0, and never shorter than what is drawn above. */
const time: uPlot.Scale = {
  time: false,
  range: (_, __, max) => [0, Math.max(1, none(max) + 1)],
};

/** Of columns whose last step has its own end. */
const stepsTime: uPlot.Scale = { time: false, range: (_, __, max) => [0, Math.max(1, none(max))] };

const fromZero: uPlot.Scale = { range: (_, __, max) => [0, Math.max(1, none(max) * 1.08)] };

/** What the legend says of the second that is pointed at. */
const toldOf =
  (own: Column): uPlot.Series.Value =>
  (_, __, ___, at) =>
    at === null ? '–' : String(own[at] ?? '–');

const shortMs = (ms: number): string => (ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`);
const roundMs = (ms: number): string => shortMs(Math.round(ms));

/** Milliseconds, on a scale where ten times as long is one step. */
const latencyChart = (x: uPlot.Scale, series: Chart['series']): Chart => ({
  x,
  y: {
    distr: 3,
    range: (_, min, max) => [Math.min(1, none(min) || 1), Math.max(1_000, none(max) * 1.5)],
  },
  axis: {
    label: page.value.words.p99,
    splits: () => [1, 10, 100, 1_000, 10_000],
    values: (_, splits) => splits.map(shortMs),
  },
  series,
});
