/** HMAC with SHA-256, beside Node's own. */
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmacSha256 } from '../../src/service/http/hmac-sha256.ts';

const ofNode = (secret: string, text: string) =>
  createHmac('sha256', secret).update(text).digest('base64url');

test.each([
  ['shorter than a block', 'a secret'],
  ['of exactly a block', 's'.repeat(64)],
  ['longer than a block', 's'.repeat(65)],
  ['of more bytes than letters', '秒'.repeat(22)],
])('is that of Node for texts of every length, with a secret %s', (_, secret) => {
  const own = hmacSha256(secret);
  for (const length of [1_025, 5_000, 1_024, 0, 1, 55, 56, 63, 64, 65, 119, 500])
    expect(own('x'.repeat(length))).toBe(ofNode(secret, 'x'.repeat(length)));
});

test('two keys do not disturb each other', () => {
  const [one, other] = [hmacSha256('one'), hmacSha256('other')];
  expect([one('text'), other('text'), one('text')]).toEqual([
    ofNode('one', 'text'),
    ofNode('other', 'text'),
    ofNode('one', 'text'),
  ]);
});
