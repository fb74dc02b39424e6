// A voucher is put on sale, and users buy it.
import { sleep } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { count } from './census.js';
import { expectOrder, mayBeSold } from './promises.js';
import * as settings from './settings.js';
import { asOperator, asUser } from './tokens.js';

const { answerSeconds, baseUrl, rung, workMs } = settings;
const hourMs = 3600 * 1000;
/** Longer than a load may last. */
const onSaleMs = 26 * hourMs;
/** Enough reads that each instance behind nginx answers some of them, and opens the rung. */
const warmUpReads = 16;

/**
 * The set-up of every script. Each voucher has `stock` units, and its sale is open; or it is the
 * one of VOUCHER_ID. `buyers` is the number of users who can each get an order of a voucher.
 */
export function putOnSale({ title, stock, buyers, vouchers = 1, more = {} }) {
  refuseWhatCannotBeJudged(vouchers);
  const startedAt = new Date().toISOString();
  const sale = { title, stock, ...more };
  const known = settings.voucherId ? onSaleAlready(settings.voucherId) : sale;
  const voucherIds = settings.voucherId
    ? [settings.voucherId]
    : Array.from({ length: vouchers }, () => createVoucher(sale));
  for (let read = 0; read < warmUpReads; read++) ask('GET', `/vouchers/${voucherIds[0]}`);
  return { startedAt, voucherIds, expectedOrders: buyers && Math.min(known.stock, buyers) };
}

/** Ends the run with one sentence: k6 adds a stack to an error that is thrown. */
export const refuse = (sentence) => exec.test.abort(sentence);

function refuseWhatCannotBeJudged(vouchers) {
  const { scenarios, executionSegment } = exec.test.options;
  const { problems, voucherId } = settings;
  if (problems.length > 0) refuse(problems.join('; '));
  if (scenarios.default)
    refuse(
      'the script plans its own load, and judges that one: use RATE, SECONDS and USERS instead of ' +
        '--vus, --duration, --iterations and --stage',
    );
  if (voucherId && vouchers > 1) refuse('VOUCHER_ID is one voucher, and this script sells several');
  if (executionSegment && !voucherId)
    refuse(
      'a part of a load needs VOUCHER_ID, the voucher that all parts buy: see docs/load-testing.md',
    );
}

function ask(method, path, body = null, params = {}) {
  const answer = send(method, `${baseUrl}${path}`, params, body);
  if (answer.status === 0) refuse(`no service answers at ${baseUrl}: ${answer.error}`);
  return answer;
}

function createVoucher(sale) {
  const at = (fromNowMs) => new Date(Date.now() + fromNowMs).toISOString();
  const voucher = { ...sale, beginTime: at(-hourMs), endTime: at(onSaleMs), rung };
  if (workMs > 0) voucher.lab = { workMs }; // A service outside the lab refuses it.
  const answer = ask('POST', '/vouchers', JSON.stringify(voucher), asOperator());
  if (answer.status === 201) return answer.json().id;
  return refuse(`${baseUrl} created no voucher: ${answer.status} ${reasonOf(answer)}`);
}

function onSaleAlready(voucherId) {
  const answer = ask('GET', `/vouchers/${voucherId}`);
  if (answer.status !== 200) refuse(`${baseUrl} has no voucher ${voucherId}: ${reasonOf(answer)}`);
  const voucher = answer.json();
  if (voucher.rung !== rung)
    refuse(`voucher ${voucherId} is sold by ${voucher.rung}: set RUNG=${voucher.rung}`);
  if (voucher.remaining < voucher.stock && !exec.test.options.executionSegment)
    refuse(`voucher ${voucherId} has orders of others, which would be taken for wrong ones`);
  return voucher;
}

const reasonLettersMax = 200;

function reasonOf({ status, body }) {
  const detail = detailIn(body);
  if (/^rung: /.test(detail)) return `${rung} is no rung: npx lockstep ladder has them`;
  const help = status === 401 || status === 403 ? ': check TOKEN_SECRET, or TOKEN' : '';
  return `${detail.slice(0, reasonLettersMax)}${help}`;
}

function detailIn(body) {
  try {
    const { detail, title } = JSON.parse(body);
    return detail || title;
  } catch {
    return String(body); // No answer of the service.
  }
}

/**
 * One attempt. Returns its outcome and the answer; calls `tagsNow` when the answer has come. `pass`
 * is that of a waiting room.
 */
export function buy(sale, user, tagsNow = () => ({}), pass = '') {
  const { url, params } = purchase(sale, user);
  if (pass) params.headers['Purchase-Pass'] = pass;
  expectOrder(sale, user);
  mayBeSold(1);
  const answer = send('POST', url, params);
  return { outcome: count(answer, tagsNow()), answer };
}

/** No answer, too many tries, not ready. After any other refusal there is nothing to wait for. */
const waitsMore = [0, 429, 503];

/** Waits in the line of a sale. Returns the pass; or '' when there is nothing to wait for. */
export function waitForPass({ voucherIds: [voucherId] }, user) {
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
export function send(method, url, params, body = null) {
  const startedAt = Date.now();
  try {
    return http.request(method, url, body, { ...params, throw: true });
  } catch (error) {
    const timings = { duration: Date.now() - startedAt };
    return { status: 0, error: error.message, timings };
  }
}

/** The same user sends several requests at the same moment. */
export function buyAtOnce(sale, user, requests, tags = {}) {
  const request = { method: 'POST', ...purchase(sale, user) };
  expectOrder(sale, user);
  mayBeSold(requests);
  for (const answer of http.batch(Array(requests).fill(request))) count(answer, tags);
}

const purchase = ({ voucherIds: [voucherId] }, user) => ({
  url: `${baseUrl}/vouchers/${voucherId}/orders`,
  params: {
    ...asUser(user),
    timeout: `${answerSeconds}s`,
    tags: { name: 'POST /vouchers/{id}/orders' },
  },
});
