/** How the figures of all benchmarks are written, and the paragraphs that all reports end with. */
import type { Bilingual, Table } from '../stage/result.ts';
import { type Block, type Column, tableOf } from '../stage/table.ts';
import { sumOfKnown } from './cpu-by-role.ts';
import type { BenchmarkResult, ClosedBenchmarkResult, JudgedTarget, Spread } from './targets.ts';

/** More other work than this makes every figure worse than the service is. */
const otherWorkMax = 0.05;
const notQuiet = {
  en: 'THE MACHINE WAS NOT QUIET: the figures are worse than the service is',
  zh: '机器不空闲：数字比服务的实际水平差',
};

export const medianText = (spread: Spread | null, digits = 0): string =>
  spread === null ? '?' : spread.median.toFixed(digits);

export const rangeText = (spread: Spread | null, digits = 0): string =>
  spread === null ? '?' : `${spread.least.toFixed(digits)}..${spread.most.toFixed(digits)}`;

/** Columns that many tables have. */
export const acceptedColumn: Column<{ readonly acceptedPerSecond: Spread }> = [
  { en: 'accepted/s', zh: '受理/秒' },
  ({ acceptedPerSecond }) => medianText(acceptedPerSecond),
];

export const rangeColumn = <Row>(figure: (row: Row) => Spread | null, digits = 0): Column<Row> => [
  { en: 'least..most', zh: '最低..最高' },
  (row) => rangeText(figure(row), digits),
];

/** The sum of the medians; `?` when one of them is unknown. */
export function sumText(spreads: readonly (Spread | null)[], digits = 0): string {
  return sumOfKnown(spreads.map((spread) => spread?.median ?? null))?.toFixed(digits) ?? '?';
}

export const roundsText = ({
  rounds,
  seconds,
  connections,
  instances,
  otherWork,
}: Omit<ClosedBenchmarkResult & { readonly rounds: number }, 'targets' | 'faults'>): Bilingual => {
  const other = otherWorkText(otherWork);
  return {
    en: `Median (and least..most)
of ${rounds} rounds of ${seconds} s in turns, wrk with ${connections} connections,
${instances} instances behind one nginx, order workers running
${other.en}`,
    zh: `轮流测 ${rounds} 轮，每轮 ${seconds} 秒，取中位数（和最低..最高）；
wrk ${connections} 个连接，一个 nginx 后面 ${instances} 个实例，订单消费者在运行
${other.zh}`,
  };
};

export function otherWorkText(share: Spread | null): Bilingual {
  if (share === null)
    return { en: 'other work on this machine: unknown', zh: '这台机器上别的工作：未知' };
  const percent = (part: number) => `${(100 * part).toFixed(0)}%`;
  const { median, least, most } = share;
  const isQuiet = median <= otherWorkMax;
  const range = least === most ? '' : ` (${percent(least)}..${percent(most)})`;
  return {
    en: `other work on this machine: ${percent(median)} of its CPU time${range}${isQuiet ? '' : `\n${notQuiet.en}`}`,
    zh: `这台机器上别的工作：占 CPU 时间的 ${percent(median)}${range}${isQuiet ? '' : `\n${notQuiet.zh}`}`,
  };
}

const marks = { met: '✓', unclear: '~', missed: '✗', unknown: '·' } as const;

const targetColumns: readonly Column<JudgedTarget>[] = [
  [{ en: '  target', zh: '  目标' }, ({ name, answer }) => `${marks[answer]} ${name}`],
  ['', ({ atLeast, atMost }) => (atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`)],
  [{ en: 'median', zh: '中位数' }, ({ measured }) => medianText(measured, 2)],
  [
    { en: 'least..most', zh: '最低..最高' },
    ({ measured }) => (measured ? rangeText(measured, 2) : ''),
  ],
];

const legend = {
  [marks.met]: { en: 'met', zh: '达到' },
  [marks.unclear]: { en: 'missed by less than the spread', zh: '没达到，但差距在波动之内' },
  [marks.missed]: { en: 'missed', zh: '没达到' },
  [marks.unknown]: { en: 'not judged: one round', zh: '只测了一轮，不判断' },
};

/** Nothing where a benchmark has no targets. */
export const targetsTable = (targets: readonly JudgedTarget[]): Table[] =>
  targets.length > 0 ? [tableOf('', targets, targetColumns, { legend })] : [];

export const faultsText = ({ faults }: Pick<BenchmarkResult, 'faults'>): Bilingual => {
  const list = faults.map((fault) => `- ${fault}`).join('\n');
  return faults.length > 0
    ? { en: `THE FIGURES DO NOT COUNT:\n${list}`, zh: `这些数字不作数：\n${list}` }
    : {
        en: 'Every answer was the expected one, and every accepted order was recorded.',
        zh: '每个响应都符合预期，受理的订单都已入库。',
      };
};

export const cpuTitle: Bilingual = {
  en: 'CPU microseconds per request, by process (kernel accounting)',
  zh: '每个请求的 CPU 微秒数，按进程（内核统计）',
};

/** A paragraph of lines; nothing where there are none. */
export const paragraph = (lines: readonly string[]): Block[] =>
  lines.length > 0 ? [lines.join('\n')] : [];
