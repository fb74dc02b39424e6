// Simulates: a rush on a sale with a waiting room. A calm part first; then ten times as many users
//   arrive. Each takes a place in the line, waits for its turn, and buys with its pass.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: PURCHASES is the latency of the purchase itself, and the rush should have that
//   of the calm part. The users wait under WAITING instead. With PASSES=0 there is no waiting room:
//   everybody buys at once.
//
//   npm run k6 -- k6/waiting-room.js
//   RUNG=row-lock WORK_MS=10 RATE=300 PASSES=40 npm run k6 -- k6/waiting-room.js
//   RUNG=row-lock WORK_MS=10 RATE=300 PASSES=0 npm run k6 -- k6/waiting-room.js
// Settings: PASSES (how many may buy at once), RATE (users a second in the rush), SECONDS (of each
//   part), RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY, and those of every script: k6/README.md.
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';
import { keptParts, partLines, trendLines } from './lib/latency.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { availabilityThresholds, judge } from './lib/promises.js';
import { buy, putOnSale, waitForPass } from './lib/sale.js';
import { number, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const passes = number('PASSES', 100);
const rate = positive('RATE', 300);
const seconds = positive('SECONDS', 5);
const calmRate = Math.max(1, Math.floor(rate / 10));
const calmUsers = calmRate * seconds;
const plan = { iterations: calmUsers + rate * seconds };
const parts = ['calm', 'rush'];
/** The line may be longer than the rush. */
const waitsAtMost = '180s';

const part = (of, users) => ({
  ...arrivals({ rate: of, milliseconds: seconds * 1000, virtualUsers: users }),
  gracefulStop: waitsAtMost,
});
const calm = part(calmRate, calmUsers);
const rush = { ...part(rate, rate * seconds), startTime: `${seconds + 1}s` };
export const options = judgedOptions({ calm, rush }, plan, {
  more: { ...availabilityThresholds, ...keptParts(parts) },
});
prepareTokens(plan.iterations + 2); // k6 may begin one iteration more in each part.
const waited = new Trend('waited', true);

export const setup = () =>
  putOnSale({
    ...{ title: 'k6 waiting room', stock: plan.iterations + 2 },
    expectedOrders: plan.iterations,
    more: passes > 0 ? { passesAtOnce: passes } : {},
  });

export default function waitAndBuy({ voucherIds: [voucherId] }) {
  const name = exec.scenario.name;
  const user = exec.scenario.iterationInTest + 1 + (name === 'rush' ? calmUsers + 1 : 0);
  const arrivedAt = Date.now();
  const pass = passes > 0 ? waitForPass(voucherId, user) : '';
  waited.add(Date.now() - arrivedAt);
  buy(voucherId, user, () => ({ part: name }), pass);
}

const sections = (data) => [
  ...partLines(data, 'PURCHASES', parts),
  ...(passes > 0 ? trendLines(data, 'WAITING', 'waited') : []),
];
export const teardown = judge;
export const handleSummary = summaryOf('waiting-room.js', plan, { sections });
