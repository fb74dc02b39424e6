// Bearer tokens as the service expects them: HS256 over {sub, role, exp}.
import { hmac } from 'k6/crypto';
import encoding from 'k6/encoding';
import { tokenSecret } from './settings.js';

const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');
const header = part({ alg: 'HS256', typ: 'JWT' });

export function token(sub, role) {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const signed = `${header}.${part({ sub: String(sub), role, exp })}`;
  return `${signed}.${hmac('sha256', tokenSecret, signed, 'base64rawurl')}`;
}
