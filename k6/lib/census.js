// The census: every answer to a purchase is counted under one name. A refusal is counted under the
// code that the service gave it: "sold-out" is an answer and not a failure.
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
import { recordAttempts } from './promises.js';

const refusals = [
  'sold-out',
  'already-ordered',
  'not-started',
  'ended',
  'sale-paused',
  'busy',
  'database-busy',
  'conflict',
  'lease-lost',
  'stale-fence',
  'lock-service-unavailable',
  'queue-full',
  'not-ready',
  'too-many-requests',
  'overloaded',
  'pass-required',
];
/**
 * `no-connection`: the request was not sent. `unknown`: the attempt may have been sold.
 * `unexpected`: any other answer.
 */
export const outcomes = ['accepted', ...refusals, 'no-connection', 'unknown', 'unexpected'];

/** The metric of an outcome: k6 allows no hyphen in a metric's name. */
export const metricOf = (outcome) => outcome.replace(/-/g, '_');

const counters = Object.fromEntries(outcomes.map((name) => [name, new Counter(metricOf(name))]));
const latency = new Trend('purchase_latency', true);
/** From the request until its connection ended, or the client gave up. */
const noAnswer = new Trend('no_answer', true);

http.setResponseCallback(http.expectedStatuses(200, 201, 202, 403, 409, 410, 429, 503));

/**
 * Counts one answer to a purchase, and returns its outcome. With `--out json`, each attempt can be
 * read from a point: of the latency with its outcome, or of a counter when no answer came.
 */
export function count(response, tags) {
  const outcome = outcomeOf(response);
  const isAnswered = response.status !== 0;
  countOutcome(outcome, 1, isAnswered ? tags : { ...tags, answer: 'none' });
  const { duration } = response.timings;
  if (isAnswered) latency.add(duration, { ...tags, outcome, kind: kindOf(outcome) });
  else noAnswer.add(duration);
  return outcome;
}

export function countOutcome(outcome, attempts, tags = {}) {
  counters[outcome].add(attempts, tags);
  recordAttempts(outcome, attempts);
}

/** The latencies of different kinds are not compared: a sold-out answer costs less than a sale. */
function kindOf(outcome) {
  if (outcome === 'accepted' || outcome === 'sold-out') return outcome;
  return refusals.includes(outcome) ? 'refused' : 'other';
}

function outcomeOf({ status, body, error }) {
  if (status === 201 || status === 202) return 'accepted';
  if (status === 0) return wasNeverSent(error) ? 'no-connection' : 'unknown';
  const code = codeOf(body);
  if (code === 'outcome-unknown') return 'unknown';
  return refusals.includes(code) ? code : 'unexpected';
}

/** The name was not found, or the connection was never made. */
const wasNeverSent = (error) => /(^|: )(lookup|dial)\b/.test(error);

function codeOf(body) {
  try {
    return JSON.parse(body).code;
  } catch {
    return undefined;
  }
}
