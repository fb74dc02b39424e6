// What the options of every script have in common.
import { availabilityThresholds, safetyPromises, thresholdsOf } from './promises.js';
import { answerSeconds } from './settings.js';
import { latencyFigures } from './summary.js';

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

/** After this time every answer has come, or is unknown. */
export const lastAnswerSeconds = (requestsInARow = 1) => requestsInARow * answerSeconds + 2;

/** `more` are the thresholds beside the promises of safety. */
export const judgedOptions = (
  scenarios,
  { promises = safetyPromises(), more = availabilityThresholds } = {},
) => ({
  scenarios,
  thresholds: { ...thresholdsOf(promises), ...more },
  summaryTrendStats: latencyFigures,
  batchPerHost: 8, // Requests that one virtual user may send at once.
  setupTimeout: '120s',
  teardownTimeout: '120s',
});
