// Bearer tokens as the service expects them: HS256 over {sub, role, exp}. A service whose secret is
// not known is given ready tokens: TOKEN, an operator's, and TOKENS_FILE, a user's on each line.

import { hmac } from 'k6/crypto';
import { SharedArray } from 'k6/data';
import encoding from 'k6/encoding';
import { tokenSecret } from './settings.js';

const lifeSeconds = 6 * 3600;
const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
const header = part({ alg: 'HS256', typ: 'JWT' });
const exp = Math.floor(Date.now() / 1000) + lifeSeconds;

export function signed(sub, role) {
  const text = `${header}.${part({ sub: String(sub), role, exp })}`;
  return `${text}.${hmac('sha256', tokenSecret, text, 'base64rawurl')}`;
}

const userTokens = (users) =>
  __ENV.TOKENS_FILE
    ? open(__ENV.TOKENS_FILE).trim().split('\n')
    : Array.from({ length: users }, (_, index) => signed(index + 1, 'user'));

let tokens = [];

/**
 * Call it where k6 starts a script, once: users 1 to `users` have their tokens before the load. All
 * virtual users share them, so that an iteration spends no time on a signature.
 */
export function prepareTokens(users) {
  tokens = new SharedArray('tokens of users', () => userTokens(users));
  if (tokens.length < users)
    throw new Error(`TOKENS_FILE has ${tokens.length} tokens, and the load needs ${users}`);
}

/** The parameters of a request with this token. */
export const authorized = (token) => ({
  headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
});

export const asUser = (user) => authorized(tokens[user - 1] ?? signed(user, 'user'));

const operatorToken = __ENV.TOKEN || signed(1, 'operator');
export const asOperator = () => authorized(operatorToken);
