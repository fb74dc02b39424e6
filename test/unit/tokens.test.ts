/** Bearer tokens: which ones are read, and which are refused. A library is the witness. */
import { createHmac } from 'node:crypto';
import jsonwebtoken from 'jsonwebtoken';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { signToken, tokenReader } from '../../src/service/http/tokens.ts';
import { fakeTimers } from '../support/basics.ts';

const secret = 'a secret of more than thirty-two letters';
const rules = {
  ...{ TOKEN_SECRET: secret, TOKEN_SECRET_BEFORE: '', TOKEN_LONGEST_SECONDS: 0 },
  ...{ TOKEN_ISSUER: '', TOKEN_AUDIENCE: '', TOKEN_JWKS_URL: '' },
};
const reader = (changes: Partial<typeof rules> = {}) => tokenReader({ ...rules, ...changes });
const read = reader();
const startMs = Date.UTC(2026, 0, 1);
const exp = startMs / 1_000 + 60;
/** What is read of a token of user 7. */
const user7 = { sub: '7', role: 'user', exp };

const inBase64 = (text: string) => Buffer.from(text).toString('base64url');
const encode = (value: unknown) => inBase64(JSON.stringify(value));
const signedText = (header: string, payload: string, key = secret) => {
  const text = `${header}.${payload}`;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};
const signed = (header: unknown, payload: unknown) => signedText(encode(header), encode(payload));
/** A token of user 7, with these claims too. */
const token = (claims: object = {}, header: object = {}, key = secret) =>
  signedText(encode({ alg: 'HS256', ...header }), encode({ sub: '7', exp, ...claims }), key);
const bearer = (text: string, readIt = read) => readIt(`Bearer ${text}`);

beforeEach(() => fakeTimers({ toFake: ['Date'], now: startMs }));

test('a token is read as its user, role and end', async () => {
  const own = await signToken(secret, '7', 'operator', 60);
  expect(bearer(own)).toEqual({ sub: '7', role: 'operator', exp });
  expect(bearer(own)).toEqual({ sub: '7', role: 'operator', exp });
});

test.each([
  ['no header', undefined],
  ['another scheme', `Basic ${token()}`],
  ['two tokens', `Bearer ${token()} x`],
])('%s is refused', (_, header) => {
  expect(read(header)).toBeNull();
});

const endless = inBase64('{"sub":"7","exp":1e999}');
test.each([
  ['of another secret', token({}, {}, 'another')],
  ['with another algorithm', jsonwebtoken.sign({ sub: '7', exp }, secret, { algorithm: 'HS512' })],
  ['without an algorithm', token({}, { alg: undefined })],
  ['with the algorithm none', `${encode({ alg: 'none' })}.${encode({ sub: '7', exp })}.`],
  ['that demands an extension', token({}, { crit: ['b64'], b64: false })],
  ['whose header is a list', signed(['HS256'], { sub: '7', exp })],
  ['whose payload is null', signed({ alg: 'HS256' }, null)],
  ['whose payload is a text', signed({ alg: 'HS256' }, 'sub')],
  ['with a start that is text', token({ nbf: '0' })],
  ['that says none, and is signed', token({}, { alg: 'none' })],
  ['without an end', token({ exp: undefined })],
  ['with an end that is text', token({ exp: String(exp) })],
  ['that never ends', signedText(encode({ alg: 'HS256' }), endless)],
  ['that has ended', token({ exp: exp - 60 })],
  ['that is not valid yet', token({ nbf: exp - 29 })],
  ['of an id that is not canonical', token({ sub: '007' })],
  ['of an id that is a number', token({ sub: 7 })],
  ['of a role that does not exist', token({ role: 'root' })],
])('a token %s is refused', (_, text) => {
  expect(bearer(text)).toBeNull();
});

test.each([
  ['its time, to the second', exp, -1],
  ['a time between two seconds', exp + 0.5, 499],
])('a token ends with %s', (_, end, lastMs) => {
  const text = token({ exp: end });
  vi.setSystemTime(exp * 1_000 + lastMs);
  expect(bearer(text)).toMatchObject({ sub: '7' });
  vi.setSystemTime(exp * 1_000 + lastMs + 1);
  expect(bearer(text)).toBeNull();
});

test.each([
  ['the library signed', jsonwebtoken.sign({ sub: '7', exp }, secret)],
  ['has its fields in another order', signed({ typ: 'JWT', alg: 'HS256' }, { exp, sub: '7' })],
  ['names its key', token({}, { kid: '2026-11' })],
  ['is valid since a second ago', token({ nbf: exp - 61 })],
  ['begins half a minute from now', token({ nbf: exp - 30 })],
  ['has claims that nobody asks for', token({ aud: 'a' })],
])('a token is read that %s', (_, text) => {
  expect(bearer(text)).toEqual(user7);
});

test('the library reads a token of the lab', async () => {
  const own = await signToken(secret, '7', 'user', 60);
  expect(jsonwebtoken.verify(own, secret, { algorithms: ['HS256'] })).toEqual(user7);
});

describe('a token with one change is refused', () => {
  const [header = '', payload = '', signature = ''] = token().split('.');

  test.each([
    ['its user', `${header}.${encode({ sub: '8', exp })}.${signature}`],
    ['its header', `${encode({ alg: 'HS256', kid: '1' })}.${payload}.${signature}`],
    ['no signature', `${header}.${payload}.`],
    ['no last part', `${header}.${payload}`],
    ['a part more', `${header}.${payload}.${signature}.${signature}`],
    ['a shorter signature', `${header}.${payload}.${signature.slice(1)}`],
    ['a longer signature', `${header}.${payload}.${signature}A`],
  ])('%s', (_, text) => {
    expect(bearer(text)).toBeNull();
  });

  test('every sign of its signature but the spare bits of the last', () => {
    for (let index = 0; index < 42; index++) {
      const changed = signature[index] === 'x' ? 'y' : 'x';
      const text = signature.slice(0, index) + changed + signature.slice(index + 1);
      expect(bearer(`${header}.${payload}.${text}`)).toBeNull();
    }
  });
});

test('while the secret changes, tokens of both secrets are read, and of no third one', () => {
  const before = 'the secret of thirty-two letters before';
  const readBoth = reader({ TOKEN_SECRET_BEFORE: before });
  const isRead = (key: string) => bearer(token({}, {}, key), readBoth) !== null;
  expect([secret, before, 'a third one', ''].map(isRead)).toEqual([true, true, false, false]);
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
    expect(bearer(token(claims), readIt)).toMatchObject({ sub: '7' });
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
    expect(bearer(token(claims), readIt)).toBeNull();
  });
});
