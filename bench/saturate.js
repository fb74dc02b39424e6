// For `lockstep bench saturate`: users arrive at a fixed rate and buy one voucher, each another
// user. It is an open model: a slow service gets no fewer requests.
// The latency counts from the moment at which a request was due, not from the moment at which k6
// sent it. So a load generator that is late, or waits for the service, cannot hide a slow answer.

import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';
import { count, metricOf, outcomes } from '../k6/lib/census.js';
import { figure } from '../k6/lib/marks.js';
import { arrivals } from '../k6/lib/options.js';
import { send } from '../k6/lib/sale.js';
import { answerSeconds, baseUrl, number, positive } from '../k6/lib/settings.js';
import { authorized, signed } from '../k6/lib/tokens.js';

const rate = positive('RATE', 100);
const seconds = positive('SECONDS', 5);
const firstUser = positive('FIRST_USER', 1);
const due = rate * seconds;
const url = `${baseUrl}/vouchers/${number('VOUCHER', 0)}/orders`;
/** In flight at once. With 100 ms for each answer they are used up, and iterations are dropped. */
const virtualUsers = Math.max(100, Math.ceil(rate / 10));

const latency = new Trend('latency_from_due', true);
/** Signed before the load begins, and shared by the virtual users. */
const users = new SharedArray('users', () =>
  Array.from({ length: due }, (_, index) => authorized(signed(firstUser + index, 'user'))),
);

export const options = {
  scenarios: { saturate: arrivals({ rate, milliseconds: seconds * 1000, virtualUsers }) },
  summaryTrendStats: ['p(50)', 'p(99)', 'max'],
  systemTags: ['status'],
};

export default function buy() {
  const { iterationInTest, startTime } = exec.scenario;
  if (iterationInTest >= due) return; // k6 may start one or two more than it was told.
  const dueAt = startTime + (iterationInTest * 1000) / rate;
  const answer = send('POST', url, { ...users[iterationInTest], timeout: `${answerSeconds}s` });
  latency.add(Date.now() - dueAt);
  count(answer, {});
}

export function handleSummary(data) {
  const counted = outcomes.map((outcome) => [outcome, figure(data, metricOf(outcome))]);
  const of = (name) => figure(data, 'latency_from_due', name);
  const result = {
    answers: Object.fromEntries(counted.filter(([, times]) => times > 0)),
    dropped: figure(data, 'dropped_iterations'),
    p50Ms: of('p(50)'),
    p99Ms: of('p(99)'),
    mostMs: of('max'),
  };
  return { stdout: `${JSON.stringify(result)}\n` };
}
