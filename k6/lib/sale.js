// A voucher is put on sale, and users buy it.
import { sleep } from 'k6';
import http from 'k6/http';
import { count } from './census.js';
import { answerSeconds, baseUrl, rung, workMs } from './settings.js';
import { asOperator, asUser } from './tokens.js';

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;
/** Enough reads that each instance behind nginx answers some of them, and opens the rung. */
const warmUpReads = 16;

/**
 * The set-up of every script. Each voucher has `stock` units, and its sale is open.
 * `expectedOrders` is the number of orders for each voucher when everybody who can get one gets
 * one.
 */
export function putOnSale({ title, stock, expectedOrders, vouchers = 1, more = {} }) {
  const sale = { title, stock, ...more };
  const voucherIds = Array.from({ length: vouchers }, () => createVoucher(sale));
  for (let read = 0; read < warmUpReads; read++) http.get(`${baseUrl}/vouchers/${voucherIds[0]}`);
  return { voucherIds, expectedOrders };
}

function createVoucher(sale) {
  const at = (fromNowMs) => new Date(Date.now() + fromNowMs).toISOString();
  const voucher = { ...sale, beginTime: at(-hourMs), endTime: at(dayMs), rung };
  if (workMs > 0) voucher.lab = { workMs }; // A service outside the lab refuses it.
  const body = JSON.stringify(voucher);
  const answer = http.post(`${baseUrl}/vouchers`, body, asOperator());
  if (answer.status === 201) return answer.json().id;
  const reason = answer.status === 0 ? answer.error : answer.json().detail || answer.body;
  throw new Error(`${baseUrl} created no voucher: ${answer.status} ${reason}`);
}

/**
 * One attempt. Returns its outcome and the answer; calls `tagsNow` when the answer has come. `pass`
 * is that of a waiting room.
 */
export function buy(voucherId, user, tagsNow = () => ({}), pass = '') {
  const { url, params } = purchase(voucherId, user);
  if (pass) params.headers['Purchase-Pass'] = pass;
  const answer = send('POST', url, params);
  return { outcome: count(answer, tagsNow()), answer };
}

/** No answer, too many tries, not ready. After any other refusal there is nothing to wait for. */
const waitsMore = [0, 429, 503];

/** Waits in the line of a sale. Returns the pass; or '' when there is nothing to wait for. */
export function waitForPass(voucherId, user) {
  const params = { ...asUser(user), tags: { name: 'POST /vouchers/{id}/place' } };
  for (;;) {
    const answer = send('POST', `${baseUrl}/vouchers/${voucherId}/place`, params);
    if (answer.status !== 200 && !waitsMore.includes(answer.status)) return '';
    const { pass, askAgainSeconds = 1 } = answer.status === 200 ? answer.json() : {};
    if (pass) return pass;
    sleep(askAgainSeconds);
  }
}

/** A request without an answer has status 0, and k6 logs no warning for it. */
export function send(method, url, params) {
  const startedAt = Date.now();
  try {
    return http.request(method, url, null, { ...params, throw: true });
  } catch (error) {
    const timings = { duration: Date.now() - startedAt };
    return { status: 0, error: error.message, timings };
  }
}

/** The same user sends several requests at the same moment. */
export function buyAtOnce(voucherId, user, requests, tags = {}) {
  const request = { method: 'POST', ...purchase(voucherId, user) };
  for (const answer of http.batch(Array(requests).fill(request))) count(answer, tags);
}

const purchase = (voucherId, user) => ({
  url: `${baseUrl}/vouchers/${voucherId}/orders`,
  params: {
    ...asUser(user),
    timeout: `${answerSeconds}s`,
    tags: { name: 'POST /vouchers/{id}/orders' },
  },
});
