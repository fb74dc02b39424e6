// Bearer tokens as the service expects them: HS256 over {sub, role, exp}. A service whose secret is
// not known is given ready tokens: TOKEN, an operator's, and TOKENS_FILE, a user's on each line.

import { hmac } from 'k6/crypto';
import { SharedArray } from 'k6/data';
import encoding from 'k6/encoding';
import { problems, tokenSecret } from './settings.js';

/** Longer than a load may last. */
const lifeSeconds = 26 * 3600;
const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
const header = part({ alg: 'HS256', typ: 'JWT' });
const exp = Math.floor(Date.now() / 1000) + lifeSeconds;

export function signed(sub, role) {
  const text = `${header}.${part({ sub: String(sub), role, exp })}`;
  return `${text}.${hmac('sha256', tokenSecret, text, 'base64rawurl')}`;
}

function userTokens(users) {
  if (__ENV.TOKENS_FILE) return linesOf(__ENV.TOKENS_FILE);
  return Array.from({ length: users }, (_, index) => signed(index + 1, 'user'));
}

function linesOf(path) {
  try {
    return open(path).trim().split(/\s+/);
  } catch {
    return []; // Too few.
  }
}

/** Of a longer load, soak.js has the same users for each voucher. */
const usersMax = 2_000_000;
let tokens = [];

/**
 * Call it where k6 starts a script, once: users 1 to `users` have their tokens before the load. All
 * virtual users share them, so that an iteration spends no time on a signature.
 */
export function prepareTokens(users) {
  if (users > usersMax)
    problems.push(`${users} users are more than ${usersMax}: lower RATE or SECONDS`);
  if (problems.length > 0) return;
  tokens = new SharedArray('tokens of users', () => userTokens(users));
  if (tokens.length < users)
    problems.push(
      `TOKENS_FILE has ${tokens.length} tokens, and the load needs ${users}: ${__ENV.TOKENS_FILE}`,
    );
}

/** The parameters of a request with this token. */
export const authorized = (token) => ({
  headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
});

export const asUser = (user) => authorized(tokens[user - 1] ?? signed(user, 'user'));

const operatorToken = __ENV.TOKEN || signed(1, 'operator');
export const asOperator = () => authorized(operatorToken);
