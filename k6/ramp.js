// Simulates: a load that grows. Users arrive at first slowly, at the end at RATE a second, and do
//   not wait for each other. There is stock for everybody.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: the latency of each fifth. The fifth from which the p99 rises tells the rate
//   that the service can take on this machine. A ? under MEASUREMENT says that k6 itself was too
//   slow.
//
//   npm run k6 -- k6/ramp.js
//   RATE=1500 SECONDS=60 P99_MS=100 npm run k6 -- k6/ramp.js
// Settings: RATE (users a second at the end), SECONDS, RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY,
//   and those of every script: k6/README.md.
import exec from 'k6/execution';
import { keptParts, partLines } from './lib/latency.js';
import { changingArrivals, judgedOptions } from './lib/options.js';
import { availabilityThresholds, judge } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 500);
const seconds = positive('SECONDS', 20);
const firstRate = Math.max(1, Math.floor(rate / 10));
const plan = { iterations: Math.ceil(((firstRate + rate) / 2) * seconds) };
const parts = ['first-fifth', 'second-fifth', 'third-fifth', 'fourth-fifth', 'last-fifth'];

const ramp = changingArrivals(firstRate, [{ rate, seconds }]);
export const options = judgedOptions({ ramp }, plan, {
  more: { ...availabilityThresholds, ...keptParts(parts) },
});
prepareTokens(plan.iterations + 1); // k6 may begin one iteration more.

export const setup = () => putOnSale({ title: 'k6 ramp', stock: plan.iterations + 1 });

export default function buyOnRamp({ voucherIds: [voucherId] }) {
  const part = parts[Math.min(parts.length - 1, Math.floor(exec.scenario.progress * parts.length))];
  buy(voucherId, exec.scenario.iterationInTest + 1, () => ({ part }));
}

const growth = (data) => partLines(data, 'GROWTH', parts);
export const teardown = judge;
export const handleSummary = summaryOf('ramp.js', plan, { sections: growth });
