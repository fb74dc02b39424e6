// A client of the service for try-compose: an operator and buyers, over HTTP.
// Built-ins only, as in setup.mjs.
import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const hourMs = 3_600_000;
const asPart = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token as the service verifies it (HS256). */
function tokenFor(secret, sub, role) {
  const claims = { sub, role, exp: Math.floor(Date.now() / 1_000) + 3_600 };
  const text = `${asPart({ alg: 'HS256', typ: 'JWT' })}.${asPart(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

export function shop(url, secret) {
  const send = (path, sub, role, init = {}) => {
    const authorization = `Bearer ${tokenFor(secret, sub, role)}`;
    const headers = { authorization, 'content-type': 'application/json', ...init.headers };
    return fetch(url + path, { ...init, headers, signal: AbortSignal.timeout(10_000) });
  };

  /** @returns the id of a voucher whose sale is open. */
  async function createVoucher(stock) {
    const [beginTime, endTime] = [-hourMs, hourMs].map((ms) =>
      new Date(Date.now() + ms).toISOString(),
    );
    const body = JSON.stringify({ title: 'try', stock, beginTime, endTime, rung: 'lua-stream' });
    const answer = await send('/vouchers', '1', 'operator', { method: 'POST', body });
    if (!answer.ok) throw new Error(`no voucher: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).id;
  }

  /** Sends one purchase until it is accepted. @returns the id of the order; null when it is not. */
  async function buy(voucherId, user, withinMs = 60_000) {
    const headers = { 'idempotency-key': randomUUID() };
    const until = Date.now() + withinMs;
    while (Date.now() < until) {
      const path = `/vouchers/${voucherId}/orders`;
      const answer = await send(path, user, 'user', { method: 'POST', headers }).catch(() => null);
      if (answer?.ok) return (await answer.json()).id;
      await sleep(200);
    }
    return null;
  }

  const stateOf = async (orderId, user) =>
    (await (await send(`/orders/${orderId}`, user, 'user')).json()).status;
  const audit = async (voucherId) =>
    (await send(`/vouchers/${voucherId}/audit`, '1', 'operator')).json();
  return { createVoucher, buy, stateOf, audit, send };
}

/** Twenty new users each second, until `stop`. @returns what was accepted, after `stop`. */
export function startBuying({ buy }, voucherId, firstUser) {
  const purchases = [];
  const timer = setInterval(() => {
    const user = String(firstUser + purchases.length);
    purchases.push(buy(voucherId, user));
  }, 50);
  return {
    async stop() {
      clearInterval(timer);
      const orders = await Promise.all(purchases);
      const accepted = orders.filter((order) => order !== null);
      return { purchases: orders.length, accepted: accepted.length };
    },
  };
}
