// Simulates: people look before they buy, and after it. For each purchase the page of the voucher
//   is read four times, and a user with an order looks it up once.
// SAFETY, must hold: the promises of rush.js, and every read is answered.
// AVAILABILITY: the whole stock is sold. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: compare the latency of the purchases with that of rush.js at the same RATE, and
//   look at READS.
//
//   npm run k6 -- k6/mixed.js
// Settings: STOCK, RATE (purchases a second), SECONDS, RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY,
//   and those of every script: docs/load-testing.md.
import { Counter, Trend } from 'k6/metrics';
import { iterations } from './lib/iterations.js';
import { trendLines } from './lib/latency.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { judge, safetyPromises } from './lib/promises.js';
import { buy, putOnSale, send } from './lib/sale.js';
import { answerSeconds, baseUrl, loadSeconds, positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { asUser, prepareTokens } from './lib/tokens.js';

const readsForEachPurchase = 4;
const stock = positive('STOCK', 300);
const rate = positive('RATE', 100);
const seconds = loadSeconds(10);
const milliseconds = seconds * 1000;
const reads = new Counter('reads');
const unanswered = new Counter('safety_unanswered_reads');
const latency = new Trend('read_latency', true);
const promises = [
  ...safetyPromises(),
  {
    metric: 'safety_unanswered_reads',
    threshold: 'count==0',
    sentence: 'every read is answered with 200',
    numbers: (count) => `${count('reads')} reads, ${count('safety_unanswered_reads')} were not`,
  },
];

const purchases = rate * seconds;
const plan = { iterations: purchases * (1 + readsForEachPurchase), purchases };
prepareTokens(purchases);
export const options = judgedOptions(
  {
    buyers: arrivals({ rate, milliseconds, requestsInARow: 2 }),
    readers: { ...arrivals({ rate: rate * readsForEachPurchase, milliseconds }), exec: 'look' },
  },
  plan,
  { promises },
);

export const setup = () => putOnSale({ title: 'k6 mixed', stock, buyers: purchases });

export default iterations(purchases, (sale, arrival) => {
  const user = arrival + 1;
  const { outcome, answer } = buy(sale, user);
  if (outcome === 'accepted') read(`/orders/${answer.json().id}`, 'GET /orders/{id}', asUser(user));
});

export const look = iterations(purchases * readsForEachPurchase, ({ voucherIds: [voucherId] }) =>
  read(`/vouchers/${voucherId}`, 'GET /vouchers/{id}'),
);

function read(path, name, params = {}) {
  const timeout = `${answerSeconds}s`;
  const answer = send('GET', `${baseUrl}${path}`, { ...params, timeout, tags: { name } });
  reads.add(1);
  unanswered.add(answer.status === 200 ? 0 : 1);
  latency.add(answer.timings.duration);
}

const readLines = (data) => trendLines(data, 'READS', 'read_latency');
export const teardown = judge;
export const handleSummary = summaryOf('mixed.js', plan, { promises, sections: readLines });
