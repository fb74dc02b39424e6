// Simulates: a rush on a sale with a waiting room. A calm part first; then ten times as many users
//   arrive. Each takes a place in the line, waits for its turn, and buys with its pass.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: PURCHASES is the latency of the purchase itself, and says whether it is as fast
//   in the rush as in the calm part (MOST_TIMES_SLOWER is the limit). The users wait under WAITING
//   instead. With PASSES=0 there is no waiting room: everybody buys at once.
//
//   npm run k6 -- k6/waiting-room.js
//   RUNG=row-lock WORK_MS=10 RATE=300 PASSES=40 npm run k6 -- k6/waiting-room.js
//   RUNG=row-lock WORK_MS=10 RATE=300 PASSES=0 npm run k6 -- k6/waiting-room.js
// Settings: PASSES (how many may buy at once), RATE (users a second in the rush), SECONDS (of each
//   part), RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY, and those of every script:
//   docs/load-testing.md.
import { Trend } from 'k6/metrics';
import { iterations } from './lib/iterations.js';
import { asFastLine, partLines, trendLines } from './lib/latency.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { judge } from './lib/promises.js';
import { buy, putOnSale, waitForPass } from './lib/sale.js';
import { loadSeconds, number, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const passes = number('PASSES', 40);
const rate = positive('RATE', 300);
const seconds = loadSeconds(5);
const calmRate = Math.max(1, Math.floor(rate / 10));
const calmUsers = calmRate * seconds;
const rushUsers = rate * seconds;
const plan = { iterations: calmUsers + rushUsers };
const parts = ['calm', 'rush'];
/** The line may be longer than the rush. */
const waitsAtMost = '180s';

const part = (name, of, users) => ({
  ...arrivals({ rate: of, milliseconds: seconds * 1000, virtualUsers: users }),
  ...{ exec: name, gracefulStop: waitsAtMost },
});
const scenarios = {
  calm: part('calm', calmRate, calmUsers),
  rush: { ...part('rush', rate, rushUsers), startTime: `${seconds + 1}s` },
};
prepareTokens(plan.iterations);
export const options = judgedOptions(scenarios, plan, { parts });
const waited = new Trend('waited', true);

export const setup = () =>
  putOnSale({
    ...{ title: 'k6 waiting room', stock: plan.iterations, buyers: plan.iterations },
    more: passes > 0 ? { passesAtOnce: passes } : {},
  });

export const calm = iterations(calmUsers, (sale, arrival) => waitAndBuy(sale, arrival + 1, 'calm'));
export const rush = iterations(rushUsers, (sale, arrival) =>
  waitAndBuy(sale, calmUsers + arrival + 1, 'rush'),
);

function waitAndBuy(sale, user, name) {
  const arrivedAt = Date.now();
  const pass = passes > 0 ? waitForPass(sale, user) : '';
  waited.add(Date.now() - arrivedAt);
  buy(sale, user, () => ({ part: name }), pass);
}

const sections = (data) => [
  ...partLines(data, 'PURCHASES', parts),
  ...asFastLine(data, 'in the rush it is as fast as in the calm', 'rush', 'calm'),
  ...(passes > 0 ? trendLines(data, 'WAITING', 'waited') : []),
];
export const teardown = judge;
export const handleSummary = summaryOf('waiting-room.js', plan, { sections });
