// Bearer tokens as the service expects them: HS256 over {sub, role, exp}.
import { hmac } from 'k6/crypto';
import encoding from 'k6/encoding';
import { tokenSecret } from './settings.js';

const lifeSeconds = 3600;
const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
const header = part({ alg: 'HS256', typ: 'JWT' });

function token(sub, role) {
  const exp = Math.floor(Date.now() / 1000) + lifeSeconds;
  const signed = `${header}.${part({ sub: String(sub), role, exp })}`;
  return `${signed}.${hmac('sha256', tokenSecret, signed, 'base64rawurl')}`;
}

/** The parameters of a request by this user or operator. */
export const authorized = (sub, role) => ({
  headers: { Authorization: `Bearer ${token(sub, role)}`, 'Content-Type': 'application/json' },
});
