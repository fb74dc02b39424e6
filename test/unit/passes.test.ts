/** Passes of the waiting room: whose they are, for what, and until when. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { signToken } from '../../src/http/tokens.ts';
import { passes } from '../../src/http/waiting-room/passes.ts';

const secret = 'a secret of more than thirty-two letters';
const { sign, placeOf } = passes([secret]);
const bearer = { voucherId: '7', userId: '12' };
const startMs = Date.UTC(2026, 0, 1);
const untilMs = startMs + 60_000;
const pass = sign(bearer, 345, untilMs);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: startMs });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a pass is that of its place, until it lapses', () => {
  expect(placeOf(pass, bearer)).toBe(345);
  vi.setSystemTime(untilMs - 1);
  expect(placeOf(pass, bearer)).toBe(345);
  vi.setSystemTime(untilMs);
  expect(placeOf(pass, bearer)).toBeNull();
});

test('a pass is of no use to another user, nor for another voucher', () => {
  expect(placeOf(pass, { ...bearer, userId: '13' })).toBeNull();
  expect(placeOf(pass, { ...bearer, voucherId: '8' })).toBeNull();
  expect(placeOf(pass, { voucherId: '71', userId: '2' })).toBeNull(); // The same digits in a row.
});

test.each([
  ['nothing', ''],
  ['a word', 'pass'],
  ['an earlier place', pass.replace('345', '1')],
  ['a later end', pass.replace(String(untilMs), String(untilMs + 1))],
  ['an end without an end', pass.replace(String(untilMs), 'Infinity')],
  ['a place with a zero before it', `0${pass}`],
  ['no signature', pass.replace(/[\w-]{43}$/, '')],
  ['a cut signature', pass.slice(0, -1)],
  ['a signature of another secret', passes([`${secret}.`]).sign(bearer, 345, untilMs)],
  ['a word after it', `${pass} `],
])('%s is no pass', (_, forged) => {
  expect(placeOf(forged, bearer)).toBeNull();
});

test('a token of the user is no pass', async () => {
  expect(placeOf(await signToken(secret, bearer.userId, 'user'), bearer)).toBeNull();
});

test('while the secret changes, passes of the one before are read, and none is signed with it', () => {
  const changed = passes(['another secret of thirty-two letters', secret]);
  expect(changed.placeOf(pass, bearer)).toBe(345);
  expect(placeOf(changed.sign(bearer, 345, untilMs), bearer)).toBeNull();
});
