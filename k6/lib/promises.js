// The promises that every script checks at its end.
// SAFETY: no order is wrong, lost or double. It must hold on every rung, however few are sold.
// AVAILABILITY: everybody who could get one got one. A lock that refuses a user as busy is still
// safe, but it is less available.
import { sleep } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { answerSeconds, availabilityIsPromised, baseUrl } from './settings.js';
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
  ? { [availabilityMetric]: ['count<=0'] }
  : {};

const metrics = [
  ...safetyPromises().map(({ metric }) => metric),
  ...[availabilityMetric, 'stock', 'audits_decided'],
];
const counter = Object.fromEntries(metrics.map((metric) => [metric, new Counter(metric)]));

/**
 * A k6 threshold reads one metric only, so three counters are differences, and the audit at the end
 * adds or subtracts the recorded orders. An attempt may be sold until its answer refuses it: one
 * that k6 interrupts has no answer.
 */
export const mayBeSold = (attempts) => counter.safety_recorded_not_accepted.add(-attempts);

const maySell = ['accepted', 'unknown', 'unexpected'];

export function recordAttempts(outcome, attempts) {
  if (outcome === 'unexpected') counter.safety_unexpected_answers.add(attempts);
  if (outcome === 'accepted') counter.safety_accepted_not_recorded.add(attempts);
  if (!maySell.includes(outcome)) counter.safety_recorded_not_accepted.add(attempts);
}

/** The user is one of those who can get an order. Nobody expects one for those who never ask. */
export function expectOrder({ expectedOrders }, user) {
  if (user <= expectedOrders) expectOrders(1);
}
export const expectOrders = (orders) => counter[availabilityMetric].add(orders);

/** Of the parts of a load, each audit would be the same. */
export function judge(sale) {
  if (!exec.test.options.executionSegment) judgeWhole(sale);
}

/** The teardown of every script: counts what the service's audit found. */
export function judgeWhole({ voucherIds, expectedOrders }) {
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
    if (expectedOrders) counter[availabilityMetric].add(-orders);
  }
}

const auditTimeoutSeconds = 30;
const atOnce = 8;
const betweenReadingsSeconds = 0.5;
/** One audit takes up to a second of an instance. */
const settleSeconds = (vouchers) => 60 + 2 * vouchers;
export const teardownSeconds = (vouchers) => settleSeconds(vouchers) + 2 * auditTimeoutSeconds;

/**
 * Reads the audits until none is unknown. One of the first seconds is read again until it stays the
 * same, because a request may still be in the service; later ones find no such request.
 */
function settledAudits(voucherIds) {
  const beganAt = Date.now();
  const seconds = () => (Date.now() - beganAt) / 1000;
  const audits = {};
  let open = voucherIds;
  if (open.length > atOnce) console.info(`${open.length} vouchers are audited …`);
  while (open.length > 0 && seconds() < settleSeconds(voucherIds.length)) {
    sleep(betweenReadingsSeconds);
    const now = open.slice(0, atOnce);
    const isLate = seconds() > answerSeconds;
    const again = readAudits(now).flatMap((audit, index) => {
      const earlier = audits[now[index]];
      audits[now[index]] = audit;
      return isDecided(audit) && (isLate || isSame(audit, earlier)) ? [] : [now[index]];
    });
    open = [...open.slice(atOnce), ...again];
  }
  return voucherIds.map((id) => audits[id] ?? null);
}

const isDecided = (audit) => audit !== null && audit.verdict !== 'unknown';
const isSame = (audit, earlier) => JSON.stringify(audit) === JSON.stringify(earlier);

/** The audit of each voucher; null where the service gave none. */
export function readAudits(voucherIds) {
  const requests = voucherIds.map((id) => ({
    method: 'GET',
    url: `${baseUrl}/vouchers/${id}/audit`,
    params: { ...asOperator(), timeout: `${auditTimeoutSeconds}s` },
  }));
  // Not answer.json(): its objects have their keys in any order, so two of them cannot be compared.
  const audits = http.batch(requests);
  return audits.map(({ status, body }) => (status === 200 ? JSON.parse(body) : null));
}
