// Simulates: a long day of sales. Users arrive at a steady rate for a long time and buy one voucher
//   after another: after USERS users, the next voucher is sold. Every tenth user clicks twice. Each
//   voucher has stock for four of five users, so every voucher sells out.
// SAFETY, must hold: the promises of rush.js, for every voucher, until the end.
// AVAILABILITY: every voucher sells out. Only lua-stream promises it; AVAILABILITY=1 requires it of
//   another rung.
// Read the result: DRIFT says whether the last tenth is as fast as the first. A service that leaks
//   memory, connections or keys becomes slower (✗). MOST_TIMES_SLOWER is the limit. At the end each
//   voucher is audited, which takes a second or two: 100 vouchers, or as many as USERS makes.
//
//   npm run k6 -- k6/soak.js                          ten minutes, 100 users a second
//   SECONDS=3600 RATE=200 npm run k6 -- k6/soak.js    an hour
// Settings: RATE (users a second), SECONDS, USERS (of each voucher), RUNG, WORK_MS, ANSWER_SECONDS,
//   AVAILABILITY, and those of every script: docs/load-testing.md.
import { iterations } from './lib/iterations.js';
import { asFastLine, partLines } from './lib/latency.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { judge, safetyPromises } from './lib/promises.js';
import { buyAtOnce, putOnSale } from './lib/sale.js';
import { loadSeconds, positive, problems } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const rate = positive('RATE', 100);
const seconds = loadSeconds(600);
const total = rate * seconds;
/** A hundred vouchers at most: each is audited at the end, which takes a second. */
const usersByDefault = Math.max(1000, Math.ceil(total / 100));
const vouchers = Math.max(1, Math.floor(total / positive('USERS', usersByDefault)));
const usersEach = Math.floor(total / vouchers);
const vouchersMax = 2_000;
if (vouchers > vouchersMax)
  problems.push(
    `${vouchers} vouchers are more than ${vouchersMax}: set USERS=${Math.ceil(total / vouchersMax)}`,
  );
const stock = Math.max(1, Math.floor(usersEach * 0.8));
const promises = safetyPromises(vouchers);

const parts = ['first-tenth', 'last-tenth'];
const plan = { iterations: total };
prepareTokens(usersEach);

export const options = judgedOptions(
  { soak: arrivals({ rate, milliseconds: seconds * 1000 }) },
  plan,
  { vouchers, promises, parts },
);

export const setup = () => putOnSale({ title: 'k6 soak', stock, buyers: stock, vouchers });

export default iterations(total, ({ voucherIds, expectedOrders }, arrival) => {
  const voucherId = voucherIds[Math.min(Math.floor(arrival / usersEach), vouchers - 1)];
  const user = 1 + (arrival % usersEach);
  const clicks = user % 10 === 0 ? 2 : 1;
  const sale = { voucherIds: [voucherId], expectedOrders };
  buyAtOnce(sale, user, clicks, { part: partOf(arrival / total) });
});

function partOf(progress) {
  if (progress < 0.1) return parts[0];
  return progress >= 0.9 ? parts[1] : 'middle';
}

const drift = (data) => [
  ...partLines(data, 'DRIFT', parts),
  ...asFastLine(data, 'the last tenth is as fast as the first', 'last-tenth', 'first-tenth'),
];

export const teardown = judge;
export const handleSummary = summaryOf('soak.js', plan, { promises, sections: drift });
