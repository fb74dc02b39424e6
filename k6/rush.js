// Simulates: the rush. Many different users want little stock. They arrive at a fixed rate through
//   nginx and do not wait for each other (an open model): a slow service gets more and more
//   requests at once.
// SAFETY, must hold: nothing is oversold, nobody has two orders, every accepted order is recorded.
// AVAILABILITY: the whole stock is sold. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: ✗ under SAFETY is a broken promise, and the exit code is 99. A ? under
//   MEASUREMENT means that k6 could not send as fast as RATE, or that answers are missing: exit
//   code 2.
//
//   npm run k6 -- k6/rush.js
//   RUNG=read-then-write WORK_MS=20 npm run k6 -- k6/rush.js        oversells: exit code 99
//   RUNG=stock-positive AVAILABILITY=1 npm run k6 -- k6/rush.js     sells exactly the stock
// Settings: STOCK, RATE (users a second), SECONDS, RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY,
//   and those of every script: docs/load-testing.md.
import { iterations } from './lib/iterations.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { judge } from './lib/promises.js';
import { buy, putOnSale } from './lib/sale.js';
import { loadSeconds, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const stock = positive('STOCK', 100);
const rate = positive('RATE', 300);
const seconds = loadSeconds(5);

const plan = { iterations: rate * seconds };
const arriving = arrivals({ rate, milliseconds: seconds * 1000 });
prepareTokens(plan.iterations);
export const options = judgedOptions({ rush: arriving }, plan);

export const setup = () => putOnSale({ title: 'k6 rush', stock, buyers: plan.iterations });

export default iterations(plan.iterations, (sale, arrival) => {
  buy(sale, arrival + 1);
});

export const teardown = judge;
export const handleSummary = summaryOf('rush.js', plan);
