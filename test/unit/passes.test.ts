/** Passes of the waiting room: whose they are, for what, and until when. */
import { beforeEach, expect, test, vi } from 'vitest';
import { signToken } from '../../src/service/http/tokens.ts';
import { passes } from '../../src/service/http/waiting-room.ts';
import { fakeTimers } from '../support/basics.ts';

const secret = 'a secret of more than thirty-two letters';
const { sign, isPass } = passes([secret]);
const bearer = { voucherId: '7', userId: '12' };
const startMs = Date.UTC(2026, 0, 1);
const untilMs = startMs + 60_000;
const pass = sign(bearer, untilMs);

beforeEach(() => fakeTimers({ toFake: ['Date'], now: startMs }));

test('a pass lets its user buy until it lapses, and a little longer: clocks differ', () => {
  expect(isPass(pass, bearer)).toBe(true);
  vi.setSystemTime(untilMs + 4_999);
  expect(isPass(pass, bearer)).toBe(true);
  vi.setSystemTime(untilMs + 5_000);
  expect(isPass(pass, bearer)).toBe(false);
});

test('a pass is of no use to another user, nor for another voucher', () => {
  expect(isPass(pass, { ...bearer, userId: '13' })).toBe(false);
  expect(isPass(pass, { ...bearer, voucherId: '8' })).toBe(false);
  expect(isPass(pass, { voucherId: '71', userId: '2' })).toBe(false); // The same digits in a row.
});

test.each([
  ['nothing', ''],
  ['a word', 'pass'],
  ['a later end', pass.replace(String(untilMs), String(untilMs + 1))],
  ['an end without an end', pass.replace(String(untilMs), 'Infinity')],
  ['an end with a zero before it', `0${pass}`],
  ['no signature', pass.replace(/[\w-]{43}$/, '')],
  ['a cut signature', pass.slice(0, -1)],
  ['a signature of another secret', passes([`${secret}.`]).sign(bearer, untilMs)],
  ['a word after it', `${pass} `],
])('%s is no pass', (_, forged) => {
  expect(isPass(forged, bearer)).toBe(false);
});

test('a token of the user is no pass', async () => {
  expect(isPass(await signToken(secret, bearer.userId, 'user'), bearer)).toBe(false);
});

test('each secret is read, and the first one signs', () => {
  const another = 'another secret of thirty-two letters';
  const both = passes([secret, another]);
  expect(isPass(both.sign(bearer, untilMs), bearer)).toBe(true);
  expect(both.isPass(passes([another]).sign(bearer, untilMs), bearer)).toBe(true);
});
