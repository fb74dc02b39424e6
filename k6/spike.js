// Simulates: a spike. Few users buy, then a message reaches everybody: for some seconds ten times
//   as many arrive, and then as few as before. There is stock for everybody.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: RECOVERY says whether a purchase after the spike is as fast as before it. If
//   not (✗), requests of the spike still wait in the service. MOST_TIMES_SLOWER is the limit.
//
//   npm run k6 -- k6/spike.js
//   RUNG=redis-reentrant RATE=100 npm run k6 -- k6/spike.js
// Settings: RATE (users a second in the spike), SECONDS (a third of it is the spike), RUNG,
//   WORK_MS, ANSWER_SECONDS, AVAILABILITY, and those of every script: docs/load-testing.md.
import { iterations, partNow } from './lib/iterations.js';
import { asFastLine, partLines } from './lib/latency.js';
import { changingArrivals, judgedOptions } from './lib/options.js';
import { judge } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { loadSeconds, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 500);
const seconds = loadSeconds(15) / 3;
const calmRate = Math.max(1, Math.floor(rate / 10));
const plan = { iterations: Math.floor((rate + 2 * calmRate) * seconds) };
const parts = ['before', 'spike', 'after'];

const spike = changingArrivals(calmRate, [
  ...[
    { rate: calmRate, seconds },
    { rate, seconds: 0 },
  ],
  ...[
    { rate, seconds },
    { rate: calmRate, seconds: 0 },
  ],
  { rate: calmRate, seconds },
]);
prepareTokens(plan.iterations);
export const options = judgedOptions({ spike }, plan, { parts });

const everybody = plan.iterations;
export const setup = () => putOnSale({ title: 'k6 spike', stock: everybody, buyers: everybody });

export default iterations(everybody, (sale, arrival) => {
  const part = partNow(parts);
  buy(sale, arrival + 1, () => ({ part }));
});

const recovery = (data) => [
  ...partLines(data, 'RECOVERY', parts),
  ...asFastLine(data, 'after the spike it is as fast as before', 'after', 'before'),
];
export const teardown = judge;
export const handleSummary = summaryOf('spike.js', plan, { sections: recovery });
