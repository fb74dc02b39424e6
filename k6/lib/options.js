// What the options of every script have in common.
import { keptParts, keptRequests, latencyFigures, latencyThresholds } from './latency.js';
import { measuredThresholds } from './measured.js';
import {
  availabilityThresholds,
  safetyPromises,
  teardownSeconds,
  thresholdsOf,
} from './promises.js';
import { answerSeconds, problems } from './settings.js';

/**
 * Iterations that begin at a fixed rate, however slow the service is. An iteration sends at most
 * `requestsInARow` requests, each after the answer to the one before. k6 waits for the last
 * answers: an attempt without its answer would be missing in the census.
 */
export const arrivals = ({
  rate,
  timeUnit = '1s',
  milliseconds,
  virtualUsers,
  requestsInARow = 1,
}) => ({
  executor: 'constant-arrival-rate',
  rate,
  timeUnit,
  duration: `${milliseconds}ms`,
  preAllocatedVUs: virtualUsers ?? Math.max(50, rate),
  gracefulStop: `${lastAnswerSeconds(requestsInARow)}s`,
});

/** As `arrivals`, at a rate that changes evenly in each part, or at once in a part of 0 seconds. */
export const changingArrivals = (startRate, parts) => ({
  executor: 'ramping-arrival-rate',
  startRate,
  timeUnit: '1s',
  stages: parts.map(({ rate, seconds }) => ({ target: rate, duration: `${seconds * 1000}ms` })),
  preAllocatedVUs: Math.max(50, ...parts.map(({ rate }) => rate)),
  gracefulStop: `${lastAnswerSeconds()}s`,
});

/** After this time every answer has come, or is unknown. */
export const lastAnswerSeconds = (requestsInARow = 1) => requestsInARow * answerSeconds + 2;

/** One virtual user instead of all, for a set-up that refuses. It does nothing. */
const refused = { executor: 'shared-iterations', exec: 'teardown', vus: 1, iterations: 1 };

/**
 * `plan` is that of lib/measured.js; the summary needs the same one. Of each of `parts` the
 * latencies are kept. `more` are the thresholds beside the promises of safety.
 */
export const judgedOptions = (
  scenarios,
  plan,
  {
    vouchers = 1,
    promises = safetyPromises(vouchers),
    parts = [],
    more = availabilityThresholds,
  } = {},
) => ({
  scenarios: problems.length > 0 ? { refused } : scenarios,
  thresholds: {
    ...thresholdsOf(promises),
    ...measuredThresholds(plan),
    ...latencyThresholds,
    ...keptRequests(Object.keys(scenarios)),
    ...keptParts(parts),
    ...more,
  },
  summaryTrendStats: latencyFigures,
  batchPerHost: 8, // Requests that one virtual user may send at once.
  setupTimeout: `${120 + vouchers}s`,
  teardownTimeout: `${teardownSeconds(vouchers)}s`,
});
