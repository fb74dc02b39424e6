// Simulates: a load that grows. Users arrive at first slowly, at the end at RATE a second, and do
//   not wait for each other. There is stock for everybody.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: GROWTH has the latency of each fifth, with its rates, and says at which of them
//   the p99 is more than MOST_TIMES_SLOWER times that of the first. That is what the service can
//   take on this machine. A ? under MEASUREMENT says that k6 itself was too slow.
//
//   npm run k6 -- k6/ramp.js
//   RATE=1500 SECONDS=60 P99_MS=100 npm run k6 -- k6/ramp.js
// Settings: RATE (users a second at the end), SECONDS, RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY,
//   and those of every script: docs/load-testing.md.
import { iterations, partNow } from './lib/iterations.js';
import { partLines, risesLine } from './lib/latency.js';
import { changingArrivals, judgedOptions } from './lib/options.js';
import { judge } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { loadSeconds, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 500);
const seconds = loadSeconds(20);
const firstRate = Math.max(1, Math.floor(rate / 10));
const plan = { iterations: Math.floor(((firstRate + rate) / 2) * seconds) };
const parts = ['first-fifth', 'second-fifth', 'third-fifth', 'fourth-fifth', 'last-fifth'];
const rateAfter = (fifths) => Math.round(firstRate + ((rate - firstRate) * fifths) / parts.length);
const rates = parts.map((_, index) => `${rateAfter(index)} to ${rateAfter(index + 1)}/s`);

const ramp = changingArrivals(firstRate, [{ rate, seconds }]);
prepareTokens(plan.iterations);
export const options = judgedOptions({ ramp }, plan, { parts });

const everybody = plan.iterations;
export const setup = () => putOnSale({ title: 'k6 ramp', stock: everybody, buyers: everybody });

export default iterations(everybody, (sale, arrival) => {
  const part = partNow(parts);
  buy(sale, arrival + 1, () => ({ part }));
});

const growth = (data) => [
  ...partLines(data, 'GROWTH', parts, rates),
  ...risesLine(data, parts, rates),
];
export const teardown = judge;
export const handleSummary = summaryOf('ramp.js', plan, { sections: growth });
