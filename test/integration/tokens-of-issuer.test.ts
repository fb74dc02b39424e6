/** Tokens of an issuer with private keys: which are read, and what happens while it is away. */
import { createHmac } from 'node:crypto';
import type { Server } from 'node:http';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { isServiceError } from '../../src/service/errors.ts';
import { tokenReader } from '../../src/service/http/tokens.ts';
import { fakeTimers, httpServer, withCode } from '../support/basics.ts';
import { call, deploymentSecret, putOnSale, tokenFor } from '../support/client.ts';
import { ownStores } from '../support/own-stores.ts';
import { deploy } from '../support/service-process.ts';

const issuer = 'https://issuer.example';
const audience = 'flash-sale';
const claims = { sub: '7', role: 'user', iss: issuer, aud: audience };

interface KeyPair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

async function keyPair(kid: string, alg: string): Promise<KeyPair> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

const sign = (
  { kid, alg, privateKey }: Pick<KeyPair, 'kid' | 'alg' | 'privateKey'>,
  changes: Readonly<Record<string, unknown>> = {},
) =>
  new SignJWT({ ...claims, exp: Math.floor(Date.now() / 1_000) + 600, ...changes })
    .setProtectedHeader({ alg, kid })
    .sign(privateKey);

let keys: JWK[];
let server: Server;
let url: string;

async function publish(...pairs: readonly KeyPair[]): Promise<void> {
  keys = await Promise.all(
    pairs.map(async ({ kid, alg, publicKey }) => ({ kid, alg, ...(await exportJWK(publicKey)) })),
  );
}

beforeEach(async () => {
  const { url: base, server: own } = await httpServer((_, answer) => {
    answer.end(JSON.stringify({ keys }));
  });
  server = own;
  url = `${base}/keys`;
});

async function goAway(): Promise<void> {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
}

const reader = (onUnavailable?: (error: unknown) => void) =>
  tokenReader(
    {
      ...{ TOKEN_SECRET: deploymentSecret, TOKEN_SECRET_BEFORE: '', TOKEN_LONGEST_SECONDS: 3_600 },
      ...{ TOKEN_ISSUER: issuer, TOKEN_AUDIENCE: audience, TOKEN_JWKS_URL: url },
    },
    onUnavailable,
  );

test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])(
  'a token that is signed with %s is read',
  async (alg) => {
    const pair = await keyPair('one', alg);
    await publish(pair);
    expect(await reader()(`Bearer ${await sign(pair)}`)).toMatchObject({ sub: '7', role: 'user' });
  },
);

test('a token of an issuer whose clock is ahead is read', async () => {
  const pair = await keyPair('one', 'RS256');
  await publish(pair);
  const nbf = Math.floor(Date.now() / 1_000) + 25;
  expect(await reader()(`Bearer ${await sign(pair, { nbf })}`)).toMatchObject({ sub: '7' });
});

describe('refused is a token', () => {
  let pair: KeyPair;
  let read: ReturnType<typeof reader>;
  beforeEach(async () => {
    pair = await keyPair('one', 'RS256');
    await publish(pair);
    read = reader();
  });

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = (header: object) => {
    const exp = Math.floor(Date.now() / 1_000) + 600;
    return `${encode(header)}.${encode({ ...claims, exp })}`;
  };

  /** What a token must say is in test/unit/tokens.test.ts: it is read in the same way. */
  test.each<[string, () => Promise<string>]>([
    ['for another service', () => sign(pair, { aud: 'another' })],
    ['that has ended', () => sign(pair, { exp: Math.floor(Date.now() / 1_000) - 1 })],
    ['of another key with the same name', async () => sign(await keyPair('one', 'RS256'))],
    ['of a key that the issuer does not have', async () => sign(await keyPair('two', 'RS256'))],
    ['of another algorithm than its key', async () => sign(await keyPair('one', 'ES256'))],
    ['that nobody signed', async () => `${unsigned({ alg: 'none' })}.`],
    [
      'that is signed with TOKEN_SECRET: it signs passes only',
      () => tokenFor('7', 'user', deploymentSecret),
    ],
  ])('%s', async (_, token) => {
    expect(await read(`Bearer ${await token()}`)).toBeNull();
  });

  test('of an algorithm that is not in the list, though the issuer has such a key', async () => {
    const other = await keyPair('other', 'RS512');
    await publish(pair, other);
    expect(await read(`Bearer ${await sign(other)}`)).toBeNull();
  });

  test('that is signed with the public key as a secret', async () => {
    const text = unsigned({ alg: 'HS256', kid: 'one' });
    const key = await exportSPKI(pair.publicKey);
    const signature = createHmac('sha256', key).update(text).digest('base64url');
    expect(await read(`Bearer ${text}.${signature}`)).toBeNull();
  });
});

test('a new key of the issuer is read when a token names it, but once a second at most', async () => {
  const [one, two] = [await keyPair('one', 'ES256'), await keyPair('two', 'ES256')];
  await publish(one);
  const read = reader();
  expect(await read(`Bearer ${await sign(one)}`)).toMatchObject({ sub: '7' });
  await publish(one, two);
  const token = `Bearer ${await sign(two)}`;
  expect(await read(token)).toBeNull();
  fakeTimers({ toFake: ['Date'], now: Date.now() + 1_100 });
  expect(await read(token)).toMatchObject({ sub: '7' });
});

test('a key that the issuer withdraws is used for five minutes', async () => {
  const [one, two] = [await keyPair('one', 'ES256'), await keyPair('two', 'ES256')];
  await publish(one);
  fakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const read = reader();
  const token = `Bearer ${await sign(one)}`;
  expect(await read(token)).toMatchObject({ sub: '7' });
  await publish(two);
  vi.advanceTimersByTime(299_000);
  expect(await read(token)).toMatchObject({ sub: '7' });
  vi.advanceTimersByTime(1_000);
  await expect.poll(() => read(token)).toBeNull();
});

test('while the issuer is away, known keys are used, and no token is called wrong', async () => {
  const pair = await keyPair('one', 'ES256');
  await publish(pair);
  const known = reader();
  expect(await known(`Bearer ${await sign(pair)}`)).toMatchObject({ sub: '7' });
  const fresh = reader();
  await goAway();
  fakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  const token = `Bearer ${await sign(pair)}`;
  expect(await known(token)).toMatchObject({ sub: '7' });
  await expect(Promise.resolve(fresh(token))).rejects.toThrow(withCode('TOKEN_KEYS_UNAVAILABLE'));
});

test('while the issuer is away, tokens of strangers make it be asked once a second', async () => {
  const pair = await keyPair('one', 'ES256');
  await publish(pair);
  const failures: unknown[] = [];
  const read = reader((error) => failures.push(error));
  expect(await read(`Bearer ${await sign(pair)}`)).toMatchObject({ sub: '7' });
  fakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  await goAway();
  const forged = `Bearer ${await sign(await keyPair('two', 'ES256'))}`;
  const many = await Promise.allSettled(Array.from({ length: 50 }, () => read(forged)));
  const reasons = many.map((each) => (each.status === 'rejected' ? each.reason : each.value));
  expect(
    new Set(reasons.map((reason) => isServiceError(reason, 'TOKEN_KEYS_UNAVAILABLE'))),
  ).toEqual(new Set([true]));
  for (let times = 0; times < 20; times++) expect(await read(forged)).toBeNull();
  expect(await read(`Bearer ${await sign(pair)}`)).toMatchObject({ sub: '7' });
  expect(failures).toHaveLength(1);
});

const deployed = async () =>
  deploy({
    ...{ ...(await ownStores()), TOKEN_JWKS_URL: url },
    ...{ TOKEN_ISSUER: issuer, TOKEN_AUDIENCE: audience },
  });

test('a deployment sells by the tokens of its issuer, and needs its keys', async () => {
  const pair = await keyPair('one', 'EdDSA');
  await publish(pair);
  const { baseUrl } = await deployed();
  const voucherId = await putOnSale({}, { baseUrl, token: await sign(pair, { role: 'operator' }) });
  const buy = async (token: string) => {
    const answer = await call(`/vouchers/${voucherId}/orders`, { method: 'POST', token, baseUrl });
    return answer.status;
  };
  expect(await buy(await sign(pair))).toBe(202);
  expect(await buy(await tokenFor('8', 'user', deploymentSecret))).toBe(401);
  expect(await buy(await sign(await keyPair('one', 'EdDSA')))).toBe(401);
});

test('without the keys of the issuer a deployment is not ready, and sells nothing', async () => {
  const pair = await keyPair('one', 'EdDSA');
  await goAway();
  const { baseUrl } = await deployed();
  const request = { method: 'POST', token: await sign(pair), baseUrl };
  const answer = await call('/vouchers/1/orders', request);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code: 'not-ready' });
});
