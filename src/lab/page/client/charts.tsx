/** What the clients of a run saw: a bar for each server, the answers of each second, and p99. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { marksOf, type RunView } from './run-model.ts';
import { type Bar, runSeries, type Series } from './run-series.ts';
import { page } from './texts.ts';
import { useWidth } from './width.ts';

/** Left of every chart, so that one second is one place in all of them. */
const left = 130;
const right = 20;
const barHeight = 30;

export function Charts({ run }: { run: RunView }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const series = runSeries({ seconds: run.seconds, marks: marksOf(run) });
  const hasLoad = series.bars.length > 0;
  return (
    <div ref={box} class="charts">
      {hasLoad && <States series={series} width={width} />}
      {hasLoad && <Legend />}
      {hasLoad && <Answers series={series} width={width} />}
      {hasLoad && <Latency series={series} width={width} />}
    </div>
  );
}

function Legend() {
  const { words } = page.value;
  return (
    <p class="legend">
      <i class="accepted" /> {words.accepted} <i class="refused" /> {words.refused}{' '}
      <i class="unknown" /> <span title={words.unknownAnswer}>{words.unknown}</span>
    </p>
  );
}

interface Drawn {
  readonly series: Series;
  readonly width: number;
}

/** A thin line is a server that runs; a bar is what was done to it. */
function States({ series: { bars, endSecond }, width }: Drawn) {
  const rows = [...new Set(bars.map(({ row }) => row))];
  const x = (second: number) =>
    left + ((width - left - right) * Math.min(second, endSecond)) / Math.max(1, endSecond);
  return (
    <svg class="states" width={width} height={rows.length * barHeight + 4} aria-hidden="true">
      {rows.map((row, index) => (
        <g key={row} transform={`translate(0 ${index * barHeight})`}>
          <text x={left - 10} y="20" text-anchor="end">
            {fitted(row === 'load' ? page.value.words.load : row)}
          </text>
          {row !== 'load' && <path class="up" d={`M${left} 15H${width - right}`} />}
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
  const words = page.value.barText(state, text);
  return (
    <g class={`bar ${state}`} data-bar={`${bar.row} ${state}`}>
      <title>{words}</title>
      <rect x={from} y="3" width={width} height={barHeight - 6} rx="3" />
      {words.length * 8 + 12 < width && (
        <text x={from + 6} y="20">
          {words}
        </text>
      )}
    </g>
  );
}

const colour = (name: string): string =>
  getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
const font = '15px system-ui, sans-serif';

type Columns = uPlot.AlignedData;
type Options = Omit<uPlot.Options, 'width' | 'height'>;

interface Plotted {
  readonly options: () => Options;
  readonly columns: Columns;
  readonly width: number;
  readonly height: number;
}

/** Made once; a new second only gives it new columns. */
function Plot({ options, columns, width, height }: Plotted) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const { language } = page.value.words;
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const make = () => {
      plot.current?.destroy();
      if (box.current)
        plot.current = new uPlot({ ...options(), width, height }, columns, box.current);
    };
    make();
    dark.addEventListener('change', make);
    return () => {
      dark.removeEventListener('change', make);
      plot.current?.destroy();
    };
  }, [language]);
  useEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  return <div ref={box} />;
}

function axes(y: uPlot.Axis): uPlot.Axis[] {
  const own = {
    ...{ stroke: colour('dim'), font, labelFont: font, labelSize: 22 },
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line'), width: 1 },
  };
  return [
    { ...own, size: 30 },
    { ...own, size: left - 22, ...y },
  ];
}

const common: Pick<uPlot.Options, 'padding' | 'cursor'> = {
  padding: [8, right, 0, 0],
  cursor: { sync: { key: 'run' }, drag: { x: false, y: false }, points: { show: false } },
};
/** From 0, and never shorter than what is drawn above. */
const time: uPlot.Scale = {
  time: false,
  range: (_, __, max) => [0, Math.max(1, (max ?? 0) + 1)],
};

const none = (value: number | null | undefined): number => value ?? 0;

const stacked = uPlot.paths.bars?.({ align: 1, size: [0.94, Number.POSITIVE_INFINITY] });
const stepped = uPlot.paths.stepped?.({ align: 1 });

/** Stacked: the bars of a later column cover the lower part of those before it. */
function Answers({ series: { seconds, accepted, refused, unknown }, width }: Drawn) {
  const all = accepted.map((value, at) =>
    value === null ? null : none(value) + none(refused[at]) + none(unknown[at]),
  );
  const told = accepted.map((value, at) =>
    value === null ? null : none(value) + none(refused[at]),
  );
  const columns = [seconds, all, told, accepted].map((column) => [...column]) as Columns;
  const bars = (label: string, name: string, own: Series['accepted']): uPlot.Series => ({
    ...{ label, fill: colour(name), stroke: colour(name), width: 0, points: { show: false } },
    ...(stacked && { paths: stacked }),
    value: (_, __, ___, at) => (at === null ? '–' : String(own[at] ?? '–')),
  });
  const { words } = page.value;
  const options = (): Options => ({
    ...common,
    scales: { x: time, y: { range: (_, __, max) => [0, Math.max(1, none(max) * 1.08)] } },
    axes: axes({ label: words.answersPerSecond }),
    series: [
      { label: words.second },
      bars(words.unknown, 'unknown', unknown),
      bars(words.refused, 'wait', refused),
      bars(words.accepted, 'held', accepted),
    ],
  });
  return <Plot {...{ options, columns, width }} height={220} />;
}

const shortMs = (ms: number): string => (ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`);

function Latency({ series: { seconds, p99Ms }, width }: Drawn) {
  const columns = [[...seconds], [...p99Ms]] as Columns;
  const options = (): Options => ({
    ...common,
    scales: {
      x: time,
      y: {
        distr: 3,
        range: (_, min, max) => [Math.min(1, none(min) || 1), Math.max(1_000, none(max) * 1.5)],
      },
    },
    axes: axes({
      label: page.value.words.p99,
      splits: () => [1, 10, 100, 1_000, 10_000],
      values: (_, splits) => splits.map(shortMs),
    }),
    series: [
      { label: page.value.words.second },
      {
        ...{ label: 'p99', stroke: colour('blue'), width: 3 },
        points: { show: true, size: 6, fill: colour('blue') },
        ...(stepped && { paths: stepped }),
        value: (_, value) => (value === null ? '–' : shortMs(Math.round(value))),
      },
    ],
  });
  return <Plot {...{ options, columns, width }} height={180} />;
}
