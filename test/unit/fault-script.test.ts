/** A line of faults at their times: what it means, and what is said of one that means nothing. */
import { expect, onTestFinished, test, vi } from 'vitest';
import type { BreakChoice } from '../../src/lab/by-hand/break-choice.ts';
import { FaultRequests } from '../../src/lab/by-hand/fault-requests.ts';
import { scriptOf, scriptText } from '../../src/lab/by-hand/fault-script.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';

const choice: BreakChoice<RungName> = {
  ...{ rung: 'redlock', arrivals: 'steady', perSecond: 100, minutes: 0.5 },
};
const read = (text: string, more: Partial<BreakChoice<RungName>> = {}) =>
  scriptOf(text, { ...choice, ...more }, 'mariadb');

test.each([
  ['10 stop redis-2, 20 start redis-2', '10 stop redis-2, 20 start redis-2'],
  ['  1.5s  slow   redis-1 --ms 500，2 heal,2 end ', '1.5 slow redis-1 --ms 500, 2 heal, 2 end'],
  ['0 drop mariadb, 3 start database', '0 drop mariadb, 3 start database'],
  ['1 delay redis-3 --ms 2000', '1 delay redis-3'],
  ['1 kill api-worker-1, 1 pause redis-replica', '1 kill api-worker-1, 1 pause redis-replica'],
  ['1 block-event-loop api-4', '1 block-event-loop api-4'],
  ['1 pause redis-2, 2 resume redis-2', '1 pause redis-2, 2 resume redis-2'],
])('`%s` means the same as `%s`', (text, same) => {
  expect(scriptText(read(text))).toBe(same);
  expect(read(same)).toEqual(read(text));
});

test.each([
  ['', 'FAULT_UNREADABLE', /'10 stop redis-2, /],
  ['1 stop redis-2,', 'FAULT_UNREADABLE', /^"" cannot/],
  ['stop redis-2', 'FAULT_UNREADABLE', /^"stop redis-2" cannot/],
  ['1 slow redis-2 500', 'FAULT_UNREADABLE', /--ms 500/],
  ['-1 stop redis-2', 'FAULT_UNREADABLE', /^"-1 stop redis-2"/],
  ['1 heal redis-2', 'FAULT_UNREADABLE', /take no server/],
  ['1 stpo redis-2', 'UNKNOWN_FAULT', /Did you mean stop\? .*heal, end\.$/],
  ['1 hang api-worker-1', 'UNKNOWN_FAULT', /^There is no verb "hang"/],
  ['1 stop', 'SERVER_NAME_MISSING', /stop redis-2/],
  ['1 stop redis2', 'UNKNOWN_SERVER', /Did you mean redis-2\?/],
  ['1 stop mysql', 'UNKNOWN_SERVER', /mariadb/],
  ['1 stop rabbitmq', 'UNKNOWN_SERVER', /redis-main/],
  ['1 stop redis-lab', 'UNKNOWN_SERVER', /redis-main/],
  ['1 stop database', 'UNKNOWN_SERVER', /mariadb/],
  ['1 flush-all nginx', 'NOT_A_REDIS', /redis-main/],
  ['1 slow nginx', 'NOT_PROXIED', /redis-main/],
  ['1 block-event-loop redis-2', 'NOT_AN_INSTANCE', /api-4\.$/],
  ['1 stop api-5', 'UNKNOWN_SERVER', /api-4/],
  [
    '2 stop redis-2, 1 start redis-2',
    'FAULTS_NOT_IN_ORDER',
    /^"1 start redis-2" .*"2 stop redis-2"/,
  ],
  ['1 end, 2 stop redis-2', 'FAULTS_NOT_IN_ORDER', /^"2 stop redis-2" .*"1 end"/],
  ['1996 stop redis-2', 'FAULTS_TOO_LATE', /until second 1995\.$/],
])('of `%s` it says %s', (text, code, says) => {
  expect(() => read(text)).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(says) }),
  );
});

test('what the servers are, and how long it can last, depends on the load', () => {
  expect(read('1 stop rabbitmq', { rung: 'rabbitmq' })).toHaveLength(1);
  expect(read('1 stop rabbitmq', { beside: 'rabbitmq' })).toHaveLength(1);
  const expectRefusal = (text: string, more: Partial<BreakChoice<RungName>>, code: string) =>
    expect(() => read(text, more)).toThrow(expect.objectContaining({ code }));
  expectRefusal('1 stop api-4', { beside: 'fenced' }, 'UNKNOWN_SERVER');
  expectRefusal('996 heal', { beside: 'fenced' }, 'FAULTS_TOO_LATE');
  expectRefusal('296 heal', { arrivals: 'k6' }, 'FAULTS_TOO_LATE');
  expectRefusal('3596 heal', { perSecond: 1 }, 'FAULTS_TOO_LATE');
  expect(read('3595 heal', { perSecond: 1 })).toHaveLength(1);
});

test('a step waits for its second, and no longer', async () => {
  let nowMs = 0;
  let looks = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
    looks++;
    return nowMs;
  });
  onTestFinished(() => clock.mockRestore());
  const stage = { signal: new AbortController().signal } as unknown as Stage;
  const requests = new FaultRequests(stage);
  const ended = requests.playUntil(() => false, read('1.5 end'));
  nowMs = 1_340;
  expect(read(scriptText(requests.playedAndEnded()))).toEqual(read('1.3 end'));
  nowMs = 1_499;
  await vi.waitFor(() => expect(looks).toBeGreaterThan(2));
  expect(requests.played).toEqual([]);
  nowMs = 1_500;
  await ended;
  expect(requests.played).toMatchObject([{ seconds: 1.5, verb: 'end' }]);
  expect(requests.playedAndEnded()).toEqual(requests.played);
});
