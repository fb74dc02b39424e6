// Simulates: a spike. Few users buy, then a message reaches everybody: for some seconds ten times
//   as many arrive, and then as few as before. There is stock for everybody.
// SAFETY, must hold: the promises of rush.js.
// AVAILABILITY: everybody gets an order. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: the latency after the spike should be that of before. If it stays high, requests
//   of the spike still wait in the service.
//
//   npm run k6 -- k6/spike.js
//   RUNG=redis-reentrant RATE=100 npm run k6 -- k6/spike.js
// Settings: RATE (users a second in the spike), SECONDS (a third of it is the spike), RUNG,
//   WORK_MS, ANSWER_SECONDS, AVAILABILITY, and those of every script: k6/README.md.
import exec from 'k6/execution';
import { keptParts, partLines } from './lib/latency.js';
import { changingArrivals, judgedOptions } from './lib/options.js';
import { availabilityThresholds, judge } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 500);
const seconds = positive('SECONDS', 15) / 3;
const calmRate = Math.max(1, Math.floor(rate / 10));
const plan = { iterations: Math.ceil((rate + 2 * calmRate) * seconds) };
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
export const options = judgedOptions({ spike }, plan, {
  more: { ...availabilityThresholds, ...keptParts(parts) },
});
prepareTokens(plan.iterations + 1); // k6 may begin one iteration more.

export const setup = () => putOnSale({ title: 'k6 spike', stock: plan.iterations + 1 });

export default function buyInSpike({ voucherIds: [voucherId] }) {
  const part = parts[Math.min(2, Math.floor(exec.scenario.progress * 3))];
  buy(voucherId, exec.scenario.iterationInTest + 1, () => ({ part }));
}

const recovery = (data) => partLines(data, 'RECOVERY', parts);
export const teardown = judge;
export const handleSummary = summaryOf('spike.js', plan, { sections: recovery });
