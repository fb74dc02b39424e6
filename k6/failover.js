// Simulates: a steady sale while you stop servers by hand. Each user sends one request, and a
//   second one if the first answer is unknown. Nothing sells out, so a second without a sale is an
//   outage.
// SAFETY, must hold: users may be refused, but nothing is oversold, nobody has two orders, and
//   every accepted order can be looked up afterwards.
// AVAILABILITY is only reported: the number of users with an order, and each gap (seconds without a
//   sale).
// Read the result: the longest gap is the time of the failover, in whole seconds. "unknown" means
//   that the attempt may have been sold. If it was, the second answer is "already-ordered". A ?
//   under SAFETY means that the audit could not tell: every stopped server must run again before
//   the end.
//
//   npm run k6 -- k6/failover.js                      one minute, 50 users a second
// In a second terminal (`npx lockstep status` has the names):
//   npx lockstep fault pause redis-main; sleep 5; npx lockstep fault heal
//   npx lockstep fault kill api-2                     kills an instance; it is replaced
// `npx lockstep drill k6-failover` does both, and judges them.
// With the lab's containers:
//   docker compose --env-file containers/lab.env pause redis-main; sleep 5
//   docker compose --env-file containers/lab.env unpause redis-main
// Settings: RATE (users a second), SECONDS (at most 300), RUNG, WORK_MS, ANSWER_SECONDS,
//   and those of every script: docs/load-testing.md.
import { currentSecond, gapLines, secondThresholds } from './lib/gaps.js';
import { iterations } from './lib/iterations.js';
import { lookUpPromise, lookUpScenario, remember } from './lib/look-up.js';
import { figure } from './lib/marks.js';
import { arrivals, judgedOptions, lastAnswerSeconds } from './lib/options.js';
import { judge, safetyPromises } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { loadSeconds, positive } from './lib/settings.js';
import { isAudited, summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 50);
const seconds = loadSeconds(60, 300);

/** Enough for an outage of ten seconds in which every request waits. */
const virtualUsers = rate * 10;
const requestsInARow = 2;
const promises = [...safetyPromises(), lookUpPromise(virtualUsers)];
const plan = { iterations: rate * seconds, isWithFaults: true };
prepareTokens(plan.iterations);

export const options = judgedOptions(
  {
    failover: arrivals({ rate, milliseconds: seconds * 1000, virtualUsers, requestsInARow }),
    'look-up': lookUpScenario(virtualUsers, seconds + lastAnswerSeconds(requestsInARow)),
  },
  plan,
  { promises, more: secondThresholds(seconds) },
);

export const setup = () => putOnSale({ title: 'k6 failover', stock: rate * (seconds + 1) });

export default iterations(plan.iterations, (sale, arrival) => {
  const user = arrival + 1;
  if (attempt(sale, user) === 'unknown') attempt(sale, user);
});

function attempt(sale, user) {
  const { outcome, answer } = buy(sale, user, currentSecond);
  if (outcome === 'accepted') remember(user, answer);
  return outcome;
}

export { lookUp } from './lib/look-up.js';
export const teardown = judge;

function availability(data) {
  const asked = figure(data, 'iterations_begun');
  const recorded = figure(data, 'safety_recorded_orders');
  const percent = ((100 * recorded) / Math.max(1, asked)).toFixed(1);
  const orders = isAudited(data) ? `${recorded} orders (${percent} %)` : '? orders';
  return ['', `AVAILABILITY  ${orders} for ${asked} users`, ...gapLines(data, seconds)];
}
export const handleSummary = summaryOf('failover.js', plan, { promises, sections: availability });
