// Putting a voucher on sale, buying it, and asking for the truth afterwards.
import { sleep } from 'k6';
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { baseUrl, rung } from './settings.js';
import { token } from './tokens.js';

const usersWithTwoOrders = new Counter('users_with_two_orders');
const auditViolations = new Counter('audit_violations');
const oversold = new Counter('oversold');

/** The invariant, as thresholds: exactly so many accepted, nobody twice, nothing oversold, nothing unexplained. */
export const invariant = (accepted) => ({
  accepted: [`count==${accepted}`],
  users_with_two_orders: ['count==0'],
  oversold: ['count==0'],
  audit_violations: ['count==0'],
  unexpected: ['count==0'],
});

const hour = 3600 * 1000;
const asJson = (role) => ({
  headers: { Authorization: `Bearer ${token(1, role)}`, 'Content-Type': 'application/json' },
});

/** Returns the id of a voucher that is on sale now. `workMs` is the time between check and write (lab only). */
export function putOnSale(title, stock, workMs) {
  const [beginTime, endTime] = [-hour, hour].map((fromNow) =>
    new Date(Date.now() + fromNow).toISOString(),
  );
  const lab = workMs > 0 ? { lab: { workMs } } : {}; // Refused outside the lab.
  const voucher = { title, stock, beginTime, endTime, rung, ...lab };
  const answer = http.post(`${baseUrl}/vouchers`, JSON.stringify(voucher), asJson('operator'));
  if (answer.status !== 201) throw new Error(`no voucher: ${answer.status} ${answer.body}`);
  const { id } = answer.json();
  for (let look = 0; look < 16; look++) http.get(`${baseUrl}/vouchers/${id}`); // Every instance opens the rung.
  return { voucherId: id };
}

export const buy = (voucherId, user) =>
  http.post(`${baseUrl}/vouchers/${voucherId}/orders`, null, {
    headers: { Authorization: `Bearer ${token(user, 'user')}` },
    tags: { name: 'POST /vouchers/{id}/orders' },
  });

/** Waits until every accepted order is in MySQL, then counts what the service's own audit found. */
export function askForTheTruth({ voucherId }) {
  let audit = {};
  for (let tries = 0; tries < 60 && (audit.verdict || 'unknown') === 'unknown'; tries++) {
    if (tries > 0) sleep(0.5);
    audit = http.get(`${baseUrl}/vouchers/${voucherId}/audit`, asJson('operator')).json();
  }
  usersWithTwoOrders.add(audit.usersWithTwoOrders);
  oversold.add(Math.max(0, audit.orders - audit.initialStock));
  auditViolations.add(audit.verdict === 'held' ? 0 : 1);
  console.log(`voucher ${voucherId} (${rung}): ${JSON.stringify(audit)}`);
}
