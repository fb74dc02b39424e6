// Latencies in the summary: of each kind of answer, and of the parts of a load.
import { figure, markOf } from './marks.js';
import { p99Ms } from './settings.js';

/** k6 keeps these figures of every latency. */
export const latencyFigures = ['p(50)', 'p(95)', 'p(99)', 'max'];
const headingOf = (title) => `${title.padEnd(14)} p50 / p95 / p99 / max`;

const kinds = ['accepted', 'sold-out', 'refused', 'other'];
const ofKind = (kind) => `purchase_latency{kind:${kind}}`;
const ofPart = (part) => `purchase_latency{part:${part}}`;

/** k6 keeps the figures of a tag only for a threshold; these are always met. */
const kept = (metrics) => Object.fromEntries(metrics.map((metric) => [metric, ['max>=0']]));
export const keptParts = (parts) => kept(parts.map(ofPart));
export const latencyThresholds = {
  ...kept(kinds.map(ofKind)),
  ...(p99Ms > 0 ? { purchase_latency: [`p(99)<=${p99Ms}`] } : {}),
};

const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

const isMeasured = (data, metric) => figure(data, metric, 'max') > 0;

function line(data, name, metric) {
  const figures = latencyFigures.map((each) => milliseconds(figure(data, metric, each)));
  return `  ${name.padEnd(13)} ${isMeasured(data, metric) ? figures.join(' / ') : 'nothing measured'}`;
}

export function latencyLines(data) {
  const rows = [
    ...kinds.map((kind) => [kind.replace('-', ' '), ofKind(kind)]),
    ['no answer', 'no_answer'],
  ];
  return [
    headingOf('LATENCY'),
    ...rows.flatMap(([name, metric]) => (isMeasured(data, metric) ? line(data, name, metric) : [])),
    ...p99Line(data),
  ];
}

function p99Line(data) {
  if (p99Ms === 0) return [];
  const mark = isMeasured(data, 'purchase_latency') ? markOf(data, 'purchase_latency') : '?';
  const p99 = milliseconds(figure(data, 'purchase_latency', 'p(99)'));
  return [`  ${mark} the p99 of all answers is at most ${p99Ms} ms: ${p99}`];
}

const section = (title, lines) => ['', headingOf(title), ...lines];

/** A line for each part of the load, whose purchases have it as their tag. */
export const partLines = (data, title, parts) =>
  section(
    title,
    parts.map((part) => line(data, part.replace('-', ' '), ofPart(part))),
  );

export const trendLines = (data, title, metric) => section(title, [line(data, '', metric)]);

/** By the latencies of the JSON summary. */
export const latencyJson = (data) =>
  Object.fromEntries(
    [...kinds.map((kind) => [kind, ofKind(kind)]), ['no-answer', 'no_answer']]
      .filter(([, metric]) => isMeasured(data, metric))
      .map(([kind, metric]) => [kind, data.metrics[metric].values]),
  );
