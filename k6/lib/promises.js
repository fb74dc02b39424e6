// The promises that every script checks at its end.
// SAFETY: no order is wrong, lost or double. It must hold on every rung, however few are sold.
// AVAILABILITY: everybody who could get one got one. A lock that refuses a user as busy is still
// safe, but it is less available.
import { sleep } from 'k6';
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { availabilityIsPromised, baseUrl } from './settings.js';
import { asOperator } from './tokens.js';

/**
 * A row for each promise: the metric, its threshold, the sentence of the summary, and its numbers,
 * for which `count` reads a metric. An `audited` promise is unknown without a verdict of the audit.
 */
export const safetyPromises = (vouchers = 1) => [
  {
    metric: 'safety_oversold',
    threshold: 'count==0',
    audited: true,
    sentence: 'nothing is oversold',
    numbers: (count) => `${count('safety_recorded_orders')} orders, ${count('stock')} in stock`,
  },
  {
    metric: 'safety_users_with_two_orders',
    threshold: 'count==0',
    audited: true,
    sentence: 'nobody has two orders',
    numbers: (count) => `${count('safety_users_with_two_orders')} users`,
  },
  {
    metric: 'safety_accepted_not_recorded',
    threshold: 'count<=0',
    audited: true,
    sentence: 'every accepted order is recorded',
    numbers: (count) =>
      `${count('accepted')} accepted, ${count('safety_recorded_orders')} recorded`,
  },
  {
    metric: 'safety_recorded_not_accepted',
    threshold: 'count<=0',
    audited: true,
    sentence: 'no order without an attempt',
    numbers: (count) => {
      const orders = count('safety_recorded_orders');
      return `${orders} orders, ${count('accepted')} accepted, ${count('unknown')} unknown`;
    },
  },
  {
    metric: 'safety_unexpected_answers',
    threshold: 'count==0',
    sentence: 'no answer is unexpected',
    numbers: (count) => `${count('safety_unexpected_answers')} answers`,
  },
  {
    metric: 'safety_recorded_orders',
    threshold: 'count>0',
    audited: true,
    sentence: 'something was sold, so the promises were tested',
    numbers: (count) => `${count('safety_recorded_orders')} orders`,
  },
  {
    metric: 'safety_audits_held',
    threshold: `count==${vouchers}`,
    audited: true,
    sentence: 'the audit finds no violation',
    numbers: (count) => `${count('safety_audits_held')} of ${vouchers} held`,
  },
];

export const thresholdsOf = (promises) =>
  Object.fromEntries(promises.map(({ metric, threshold }) => [metric, [threshold]]));

export const availabilityMetric = 'availability_missing_orders';

/** Empty on a rung that does not promise availability: it is then only reported. */
export const availabilityThresholds = availabilityIsPromised
  ? { [availabilityMetric]: ['count==0'] }
  : {};

const metrics = [
  ...safetyPromises().map(({ metric }) => metric),
  ...[availabilityMetric, 'stock', 'audits_decided'],
];
const counter = Object.fromEntries(metrics.map((metric) => [metric, new Counter(metric)]));

/**
 * A k6 threshold reads one metric only, so two counters are differences: an accepted answer adds 1
 * to `safety_accepted_not_recorded`, and the audit at the end subtracts the recorded orders.
 */
export function recordAttempt(outcome) {
  if (outcome === 'unexpected') counter.safety_unexpected_answers.add(1);
  if (outcome === 'accepted') counter.safety_accepted_not_recorded.add(1);
  if (outcome === 'accepted' || outcome === 'unknown' || outcome === 'unexpected')
    counter.safety_recorded_not_accepted.add(-1);
}

/** The teardown of every script: counts what the service's audit found. */
export function judge({ voucherIds, expectedOrders }) {
  for (const audit of settledAudits(voucherIds)) {
    if (audit === null) continue; // Then the audited promises are unknown.
    const { verdict, initialStock, orders, usersWithTwoOrders } = audit;
    counter.audits_decided.add(verdict === 'unknown' ? 0 : 1);
    counter.stock.add(initialStock);
    counter.safety_audits_held.add(verdict === 'held' ? 1 : 0);
    counter.safety_oversold.add(Math.max(0, orders - initialStock));
    counter.safety_users_with_two_orders.add(usersWithTwoOrders);
    counter.safety_recorded_orders.add(orders);
    counter.safety_accepted_not_recorded.add(-orders);
    counter.safety_recorded_not_accepted.add(orders);
    if (expectedOrders) counter[availabilityMetric].add(Math.max(0, expectedOrders - orders));
  }
}

const settledWithinMs = 60_000;
const betweenReadingsSeconds = 0.5;

/** Reads the audits until no verdict is unknown and two readings in a row are the same. */
function settledAudits(voucherIds) {
  const deadline = Date.now() + settledWithinMs;
  let audits = readAudits(voucherIds);
  for (;;) {
    sleep(betweenReadingsSeconds);
    const earlier = audits;
    audits = readAudits(voucherIds);
    const isDecided = audits.every((audit) => audit !== null && audit.verdict !== 'unknown');
    const isSettled = isDecided && JSON.stringify(audits) === JSON.stringify(earlier);
    if (isSettled || Date.now() > deadline) return audits;
  }
}

/** The audit of each voucher; null where the service gave none. */
export function readAudits(voucherIds) {
  const requests = voucherIds.map((id) => ({
    method: 'GET',
    url: `${baseUrl}/vouchers/${id}/audit`,
    params: { ...asOperator(), timeout: '10s' },
  }));
  // Not answer.json(): its objects have their keys in any order, so two of them cannot be compared.
  const audits = http.batch(requests);
  return audits.map(({ status, body }) => (status === 200 ? JSON.parse(body) : null));
}
