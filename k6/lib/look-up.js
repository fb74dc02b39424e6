// The look-up: after the load, every accepted order is requested by its id and must be confirmed.
// The audit compares numbers only. In a failover the number of orders can be right although an
// accepted order is lost, because an attempt with an unknown answer was sold instead.
// Only the virtual user that bought an order knows its id. k6 gives the same virtual users to the
// next scenario, which starts when the load is over. An order that is never looked up counts as not
// found.
import { sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { send } from './sale.js';
import { baseUrl } from './settings.js';
import { asUser } from './tokens.js';

const notFound = new Counter('safety_accepted_not_found');
const finished = new Counter('look_ups_finished');
const bought = []; // By this virtual user.

/** For this number of virtual users. An interrupted one does not know. */
export const lookUpPromise = (virtualUsers) => ({
  metric: 'safety_accepted_not_found',
  threshold: 'count==0',
  audited: true, // While servers are stopped, neither the audit nor the look-up can tell.
  sentence: 'every accepted order is found as confirmed',
  isKnown: (count) => count('look_ups_finished') === virtualUsers,
  numbers: (count) => `${count('safety_accepted_not_found')} not confirmed`,
});

/** All virtual users, once each. */
export const lookUpScenario = (virtualUsers, startSecond) => ({
  executor: 'per-vu-iterations',
  exec: 'lookUp',
  vus: virtualUsers,
  iterations: 1,
  startTime: `${startSecond}s`,
  maxDuration: '90s',
});

/** Call it for every accepted attempt. */
export function remember(user, answer) {
  bought.push({ user, orderId: answer.json().id });
  notFound.add(1);
}

const recordedWithinMs = 30_000;

export function lookUp() {
  const deadline = Date.now() + recordedWithinMs;
  for (const order of bought) if (isConfirmedBefore(deadline, order)) notFound.add(-1);
  finished.add(1);
}

function isConfirmedBefore(deadline, order) {
  while (!isConfirmed(order)) {
    if (Date.now() > deadline) return false;
    sleep(0.5);
  }
  return true;
}

function isConfirmed({ user, orderId }) {
  const answer = send('GET', `${baseUrl}/orders/${orderId}`, {
    ...asUser(user),
    timeout: '5s',
    tags: { name: 'GET /orders/{id}' },
  });
  return answer.status === 200 && answer.json().status === 'confirmed';
}
