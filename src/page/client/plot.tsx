/** A chart of columns on a canvas, and what every chart has. */

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Series } from './run-series.ts';
import { page } from './texts.ts';

/** Left of every chart, so that one second is one place in all of them. */
export const left = 130;
export const right = 20;

export const colour = (name: string): string =>
  getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();
export interface PlotProps {
  readonly series: Series;
  readonly width: number;
}

const font = '15px system-ui, sans-serif';

export type Columns = uPlot.AlignedData;
export type Options = Omit<uPlot.Options, 'width' | 'height'>;

interface PlotCanvas {
  readonly options: () => Options;
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
  for (const [chart, draw] of waiting) {
    waiting.delete(chart);
    draw();
    break;
  }
  if (waiting.size > 0) requestAnimationFrame(drawNext);
}

/** Made once; a new second only gives it new columns. Made anew, it has those of now. */
export function Plot(plotted: PlotCanvas) {
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
      const { options, columns, ...size } = now.current;
      if (box.current) plot.current = new uPlot({ ...options(), ...size }, columns, box.current);
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

export function axes(y: uPlot.Axis): uPlot.Axis[] {
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

/** Above: half of a label that stands at the end of its scale. */
export const common: Pick<uPlot.Options, 'padding' | 'cursor'> = {
  padding: [12, right, 0, 0],
  cursor: { sync: { key: 'run' }, drag: { x: false, y: false }, points: { show: false } },
};
/** From 0, and never shorter than what is drawn above. */
export const time: uPlot.Scale = {
  time: false,
  range: (_, __, max) => [0, Math.max(1, (max ?? 0) + 1)],
};

/** Of columns whose last step has its own end. */
export const stepsTime: uPlot.Scale = {
  time: false,
  range: (_, __, max) => [0, Math.max(1, max ?? 0)],
};

export const none = (value: number | null | undefined): number => value ?? 0;

export const stepped = uPlot.paths.stepped?.({ align: 1 });

export const shortMs = (ms: number): string => (ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`);

/** Milliseconds, on a scale where ten times as long is one step. */
export const latencyOptions = (x = time): Omit<Options, 'series'> => ({
  ...common,
  scales: {
    x,
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
});
