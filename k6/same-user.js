// Simulates: the same user, many times at once. Each user sends eight requests at the same moment,
//   as an impatient thumb or a bot does. nginx sends them to different instances.
// SAFETY, must hold: nobody has two orders, with any number of instances. A lock may
//   refuse requests as busy.
// AVAILABILITY: every user gets one order. Only lua-stream promises it; AVAILABILITY=1 requires it
//   of another rung.
// Read the result: ✗ at "nobody has two orders" means that the lock did not exclude requests on
//   other instances. The exit code is 99.
//
//   npm run k6 -- k6/same-user.js                                   lua-stream: passes
//   RUNG=mutex-per-user WORK_MS=50 npm run k6 -- k6/same-user.js    fails: exit code 99
//   RUNG=redlock npm run k6 -- k6/same-user.js                      safe; some are busy
// Settings: USERS, RATE (requests a second), RUNG, WORK_MS, ANSWER_SECONDS, AVAILABILITY, and
//   those of every script: docs/load-testing.md.
import { iterations } from './lib/iterations.js';
import { arrivals, judgedOptions } from './lib/options.js';
import { judge } from './lib/promises.js';
import { buyAtOnce, putOnSale } from './lib/sale.js';
import { positive } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';
import { prepareTokens } from './lib/tokens.js';

const requestsEach = 8;
const users = positive('USERS', 150);
const requestsPerSecond = positive('RATE', 400);
/** Each virtual user has eight connections, and nginx has room for some thousands. */
const virtualUsers = Math.min(users, 200);

const sameUsers = arrivals({
  rate: requestsPerSecond,
  timeUnit: `${requestsEach}s`, // So an eighth of the requests is the rate of the users.
  milliseconds: Math.max(1000, Math.ceil((users * requestsEach * 1000) / requestsPerSecond)),
  virtualUsers,
});
const plan = { iterations: users, purchases: users * requestsEach };
prepareTokens(users);
export const options = judgedOptions({ 'same-user': sameUsers }, plan);

/** There is stock for every request, so that only the lock keeps a user from a second order. */
export const setup = () =>
  putOnSale({ title: 'k6 same user', stock: users * requestsEach, buyers: users });

export default iterations(users, (sale, arrival) => buyAtOnce(sale, arrival + 1, requestsEach));

export const teardown = judge;
export const handleSummary = summaryOf('same-user.js', plan);
