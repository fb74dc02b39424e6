// The rush. Many different users ask for little stock, at a fixed arrival rate, through nginx: an open model, so a slow
// service does not make its users wait their turn, it makes them pile up.
// Must hold: exactly STOCK purchases are accepted, nobody has two orders, and the service's own audit finds nothing.
// Reading the result: `accepted` and `sold_out` are the census; a threshold with ✗ is a broken promise (exit code 99).
// `dropped_iterations` above 0 means that this machine could not send as fast as asked.
//   BASE_URL=http://127.0.0.1:17080 k6 run k6/rush.js
//   RUNG=read-then-write WORK_MS=20 k6 run k6/rush.js      (a rung that breaks the promise)
import exec from 'k6/execution';
import { count } from './lib/outcomes.js';
import { askForTheTruth, buy, invariant, putOnSale } from './lib/sale.js';
import { number } from './lib/settings.js';

const stock = number('STOCK', 100);
const rate = number('RATE', 300);
const seconds = number('SECONDS', 5);

export const options = {
  scenarios: {
    rush: {
      executor: 'constant-arrival-rate',
      rate,
      timeUnit: '1s',
      duration: `${seconds}s`,
      preAllocatedVUs: Math.max(50, rate),
    },
  },
  thresholds: { ...invariant(stock) },
};

export const setup = () => putOnSale('k6 rush', stock, number('WORK_MS', 0));

export default function rush({ voucherId }) {
  count(buy(voucherId, exec.scenario.iterationInTest + 1));
}

export const teardown = askForTheTruth;
