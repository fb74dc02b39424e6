// The same user, many times at once: each user sends eight requests in a row without waiting for an answer, as an
// impatient thumb or a bot does. nginx hands them to different instances.
// Must hold: each user is accepted exactly once, however many instances share the load.
// Reading the result: `accepted` must equal USERS; `users_with_two_orders` above 0 is the cross-process lock problem.
//   BASE_URL=http://127.0.0.1:17080 k6 run k6/same-user.js                        (lua-stream: passes)
//   RUNG=mutex-per-user WORK_MS=50 k6 run k6/same-user.js     (a mutex in each of four processes: fails, exit code 99)
import exec from 'k6/execution';
import { count } from './lib/outcomes.js';
import { askForTheTruth, buy, invariant, putOnSale } from './lib/sale.js';
import { number } from './lib/settings.js';

const requestsEach = 8;
const users = number('USERS', 150);
const rate = number('RATE', 400);

export const options = {
  scenarios: {
    'same-user': {
      executor: 'constant-arrival-rate',
      rate,
      timeUnit: '1s',
      duration: `${(users * requestsEach) / rate}s`,
      preAllocatedVUs: rate,
    },
  },
  thresholds: { ...invariant(users) },
};

export const setup = () => putOnSale('k6 same user', users * 10, number('WORK_MS', 0));

export default function sameUser({ voucherId }) {
  const user = 1 + Math.floor(exec.scenario.iterationInTest / requestsEach);
  count(buy(voucherId, Math.min(user, users))); // The rate may leave one request over.
}

export const teardown = askForTheTruth;
