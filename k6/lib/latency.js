// Latencies in the summary: of each kind of answer, and of the parts of a load.
import { figure, markOf } from './marks.js';
import { p99Ms, timesSlowerMax } from './settings.js';

/** k6 keeps these figures of every latency. */
export const latencyFigures = ['p(50)', 'p(95)', 'p(99)', 'max'];
const headingOf = (title) => `${title.padEnd(14)} p50 / p95 / p99 / max`;

const kinds = ['accepted', 'sold-out', 'refused', 'other'];
const ofKind = (kind) => `purchase_latency{kind:${kind}}`;
const ofPart = (part) => `purchase_latency{part:${part}}`;

/** k6 keeps the figures of a tag only for a threshold; these are always met. */
const kept = (metrics) => Object.fromEntries(metrics.map((metric) => [metric, ['max>=0']]));
export const keptParts = (parts) => kept(parts.map(ofPart));
/** Of the load only, not of the set-up, the look-up and the audit. */
const ofLoad = (scenario) => `http_reqs{scenario:${scenario}}`;
export const keptRequests = (scenarios) =>
  Object.fromEntries(
    scenarios.filter((name) => name !== 'look-up').map((name) => [ofLoad(name), ['count>=0']]),
  );
export const requestsOf = (data) =>
  Object.keys(data.metrics)
    .filter((name) => name.startsWith(ofLoad('').slice(0, -1)))
    .reduce((sum, name) => sum + figure(data, name), 0);

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
  const lines = rows
    .filter(([, metric]) => isMeasured(data, metric))
    .map(([name, metric]) => line(data, name, metric));
  const none = lines.length === 0 ? ['  nothing measured'] : [];
  return [headingOf('LATENCY'), ...lines, ...none, ...p99Line(data)];
}

function p99Line(data) {
  if (p99Ms === 0) return [];
  const mark = isMeasured(data, 'purchase_latency') ? markOf(data, 'purchase_latency') : '?';
  const p99 = milliseconds(figure(data, 'purchase_latency', 'p(99)'));
  return [`  ${mark} the p99 of all answers is at most ${p99Ms} ms: ${p99}`];
}

const section = (title, lines) => ['', headingOf(title), ...lines];

/** A line for each part of the load, whose purchases have it as their tag; `names` of the lines. */
export const partLines = (data, title, parts, names = parts) =>
  section(
    title,
    parts.map((part, index) => line(data, names[index].replace('-', ' '), ofPart(part))),
  );

/** Two latencies that are so near are not told apart, however small they are. */
const toleratedMs = 50;
const times = timesSlowerMax || 2;
const isSlower = (later, earlier) => later > earlier * times && later > earlier + toleratedMs;

/** Whether the sentence is true: this part of the load is as fast as that other one. */
export function asFastLine(data, sentence, part, than) {
  const metrics = [part, than].map(ofPart);
  const [later, earlier] = metrics.map((metric) => figure(data, metric, 'p(95)'));
  const isKnown = metrics.every((metric) => isMeasured(data, metric));
  const answer = isSlower(later, earlier) ? '✗' : '✓';
  const mark = timesSlowerMax === 0 ? '·' : answer;
  return [
    `  ${isKnown ? mark : '?'} ${sentence}: p95 ${milliseconds(later)}, ${milliseconds(earlier)}`,
    `    (as fast: at most ${times} times, or ${toleratedMs} ms more)`,
  ];
}

/** Answers from which part on the p99 is slower than in the first one. */
export function risesLine(data, parts, names) {
  const p99 = (part) => figure(data, ofPart(part), 'p(99)');
  if (parts.some((part) => !isMeasured(data, ofPart(part)))) return ['  ? a part was not measured'];
  const [first] = parts;
  const at = parts.findIndex((part) => isSlower(p99(part), p99(first)));
  const than = `${milliseconds(p99(first))} at ${names[0]}`;
  if (at < 0) return [`  ✓ the p99 does not rise up to ${names[names.length - 1]}; it is ${than}`];
  return [`  · the p99 rises at ${names[at]}: ${milliseconds(p99(parts[at]))}; it is ${than}`];
}

export const trendLines = (data, title, metric) => section(title, [line(data, '', metric)]);

/** By the latencies of the JSON summary. */
export const latencyJson = (data) =>
  Object.fromEntries(
    [...kinds.map((kind) => [kind, ofKind(kind)]), ['no-answer', 'no_answer']]
      .filter(([, metric]) => isMeasured(data, metric))
      .map(([kind, metric]) => [kind, data.metrics[metric].values]),
  );
