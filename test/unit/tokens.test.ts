/** Bearer tokens: which ones are read, and which are refused. A library is the witness. */
import { createHmac } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { signToken, tokenReader } from '../../src/http/tokens.ts';

const secret = 'a secret of more than thirty-two letters';
const rules = {
  ...{ TOKEN_SECRET: secret, TOKEN_SECRET_BEFORE: '', TOKEN_LONGEST_SECONDS: 0 },
  ...{ TOKEN_ISSUER: '', TOKEN_AUDIENCE: '', TOKEN_JWKS_URL: '' },
};
const reader = (changes: Partial<typeof rules> = {}) => tokenReader({ ...rules, ...changes });
const read = reader();
const bearer = (token: string) => read(`Bearer ${token}`);
const startMs = Date.UTC(2026, 0, 1);
const exp = startMs / 1_000 + 60;

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const signed = (header: unknown, payload: unknown, key = secret) =>
  signedText(encode(header), encode(payload), key);
const signedText = (header: string, payload: string, key = secret) => {
  const text = `${header}.${payload}`;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a token is read as its user, role and end', async () => {
  const token = await signToken(secret, '7', 'operator', 60);
  expect(bearer(token)).toEqual({ sub: '7', role: 'operator', exp });
  expect(bearer(token)).toEqual({ sub: '7', role: 'operator', exp });
});

test.each([
  ['no header', undefined],
  ['another scheme', `Basic ${signed({ alg: 'HS256' }, { sub: '7', exp })}`],
  ['two tokens', `Bearer ${signed({ alg: 'HS256' }, { sub: '7', exp })} x`],
])('%s is refused', (_, header) => {
  expect(read(header)).toBeNull();
});

test.each([
  ['of another secret', signed({ alg: 'HS256' }, { sub: '7', exp }, 'another')],
  ['with another algorithm', jsonwebtoken.sign({ sub: '7', exp }, secret, { algorithm: 'HS512' })],
  ['without an algorithm', signed({}, { sub: '7', exp })],
  ['with the algorithm none', `${encode({ alg: 'none' })}.${encode({ sub: '7', exp })}.`],
  [
    'that demands an extension',
    signed({ alg: 'HS256', crit: ['b64'], b64: false }, { sub: '7', exp }),
  ],
  ['whose header is a list', signed(['HS256'], { sub: '7', exp })],
  ['whose payload is null', signed({ alg: 'HS256' }, null)],
  ['whose payload is a text', signed({ alg: 'HS256' }, 'sub')],
  ['with a start that is text', signed({ alg: 'HS256' }, { sub: '7', exp, nbf: '0' })],
  ['that says none, and is signed', signed({ alg: 'none' }, { sub: '7', exp })],
  ['without an end', signed({ alg: 'HS256' }, { sub: '7' })],
  ['with an end that is text', signed({ alg: 'HS256' }, { sub: '7', exp: String(exp) })],
  [
    'that never ends',
    signedText(
      encode({ alg: 'HS256' }),
      Buffer.from('{"sub":"7","exp":1e999}').toString('base64url'),
    ),
  ],
  ['that has ended', signed({ alg: 'HS256' }, { sub: '7', exp: exp - 60 })],
  ['that is not valid yet', signed({ alg: 'HS256' }, { sub: '7', exp, nbf: exp - 29 })],
  ['of an id that is not canonical', signed({ alg: 'HS256' }, { sub: '007', exp })],
  ['of an id that is a number', signed({ alg: 'HS256' }, { sub: 7, exp })],
  ['of a role that does not exist', signed({ alg: 'HS256' }, { sub: '7', exp, role: 'root' })],
])('a token %s is refused', (_, token) => {
  expect(bearer(token)).toBeNull();
});

test('an end between two seconds counts', () => {
  const between = signed({ alg: 'HS256' }, { sub: '7', exp: exp + 0.5 });
  vi.setSystemTime(exp * 1_000 + 499);
  expect(bearer(between)).toMatchObject({ sub: '7' });
  vi.setSystemTime(exp * 1_000 + 500);
  expect(bearer(between)).toBeNull();
});

test('a token ends with its time, to the second', () => {
  const token = signed({ alg: 'HS256' }, { sub: '7', exp });
  vi.setSystemTime(exp * 1_000 - 1);
  expect(bearer(token)).toMatchObject({ sub: '7' });
  vi.setSystemTime(exp * 1_000);
  expect(bearer(token)).toBeNull();
});

test.each([
  ['the library signed', jsonwebtoken.sign({ sub: '7', exp }, secret)],
  ['has its fields in another order', signed({ typ: 'JWT', alg: 'HS256' }, { exp, sub: '7' })],
  ['names its key', signed({ alg: 'HS256', kid: '2026-11' }, { sub: '7', exp })],
  ['is valid since a second ago', signed({ alg: 'HS256' }, { sub: '7', exp, nbf: exp - 61 })],
  ['begins half a minute from now', signed({ alg: 'HS256' }, { sub: '7', exp, nbf: exp - 30 })],
  ['has claims that nobody asks for', signed({ alg: 'HS256' }, { sub: '7', exp, aud: 'a' })],
])('a token is read that %s', (_, token) => {
  expect(bearer(token)).toEqual({ sub: '7', role: 'user', exp });
});

test('the library reads a token of the lab', async () => {
  const token = await signToken(secret, '7', 'user', 60);
  const payload = jsonwebtoken.verify(token, secret, { algorithms: ['HS256'] });
  expect(payload).toEqual({ sub: '7', role: 'user', exp });
});

describe('a token with one change is refused', () => {
  const [header = '', payload = '', signature = ''] = signed(
    { alg: 'HS256' },
    { sub: '7', exp },
  ).split('.');
  const other = encode({ sub: '8', exp });

  test.each([
    ['its user', `${header}.${other}.${signature}`],
    ['its header', `${encode({ alg: 'HS256', kid: '1' })}.${payload}.${signature}`],
    ['no signature', `${header}.${payload}.`],
    ['no last part', `${header}.${payload}`],
    ['a part more', `${header}.${payload}.${signature}.${signature}`],
    ['a shorter signature', `${header}.${payload}.${signature.slice(1)}`],
    ['a longer signature', `${header}.${payload}.${signature}A`],
    [
      'its first sign',
      `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    ],
  ])('%s', (_, token) => {
    expect(bearer(token)).toBeNull();
  });

  test('every sign of its signature but the spare bits of the last', () => {
    for (let index = 0; index < 42; index++) {
      const changed = signature[index] === 'x' ? 'y' : 'x';
      const text = signature.slice(0, index) + changed + signature.slice(index + 1);
      expect(bearer(`${header}.${payload}.${text}`)).toBeNull();
    }
  });
});

test('a token is not read with the secret of another service', () => {
  const token = signed({ alg: 'HS256' }, { sub: '7', exp });
  expect(bearer(token)).toMatchObject({ sub: '7' });
  const TOKEN_SECRET = 'another secret of thirty-two letters';
  expect(reader({ TOKEN_SECRET })(`Bearer ${token}`)).toBeNull();
});

test('while the secret changes, tokens of both secrets are read, and of no third one', () => {
  const before = 'the secret of thirty-two letters before';
  const readBoth = reader({ TOKEN_SECRET_BEFORE: before });
  const ofSecret = (key: string) => `Bearer ${signed({ alg: 'HS256' }, { sub: '7', exp }, key)}`;
  expect(readBoth(ofSecret(secret))).toMatchObject({ sub: '7' });
  expect(readBoth(ofSecret(before))).toMatchObject({ sub: '7' });
  expect(readBoth(ofSecret('a third one'))).toBeNull();
  expect(readBoth(ofSecret(''))).toBeNull();
});

describe('where the deployment asks for', () => {
  const issuer = reader({ TOKEN_ISSUER: 'https://issuer' });
  const audience = reader({ TOKEN_AUDIENCE: 'lockstep' });
  const hour = reader({ TOKEN_LONGEST_SECONDS: 3_600 });

  test.each([
    ['an issuer, that one', issuer, { iss: 'https://issuer' }],
    ['an audience, that one', audience, { aud: 'lockstep' }],
    ['an audience, a list with it', audience, { aud: ['shop', 'lockstep'] }],
    ['a longest life, an end within it', hour, { exp: startMs / 1_000 + 3_600 }],
  ])('%s is read', (_, readIt, claims) => {
    const token = signed({ alg: 'HS256' }, { sub: '7', exp, ...claims });
    expect(readIt(`Bearer ${token}`)).toMatchObject({ sub: '7' });
  });

  test.each([
    ['an issuer, none', issuer, {}],
    ['an issuer, another', issuer, { iss: 'https://issuer.example' }],
    ['an issuer, a list with it', issuer, { iss: ['https://issuer'] }],
    ['an audience, none', audience, {}],
    ['an audience, a longer one', audience, { aud: 'lockstep2' }],
    ['an audience, a list without it', audience, { aud: ['shop', ['lockstep']] }],
    ['a longest life, a later end', hour, { exp: startMs / 1_000 + 3_601 }],
  ])('%s is refused', (_, readIt, claims) => {
    const token = signed({ alg: 'HS256' }, { sub: '7', exp, ...claims });
    expect(readIt(`Bearer ${token}`)).toBeNull();
  });
});
