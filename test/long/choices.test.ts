/** Choices on real instances: each lane in a process of its own, every order played. */
import { expect, onTestFinished, test } from 'vitest';
import { asDatabaseRoot } from '../../src/lab/environment/database-root.ts';
import { allOrdersExperiment } from '../../src/lab/play/all-orders.ts';
import { choicesByHand } from '../../src/lab/play/by-hand.ts';
import { choicesIn } from '../../src/lab/play/letters.ts';
import { isAboutData } from '../../src/lab/play/race-verdict.ts';
import { type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import type { Result } from '../../src/lab/stage/result.ts';
import { cellText } from '../../src/lab/stage/table.ts';
import { readEpoch } from '../../src/service/connections/connections.ts';
import { openPool } from '../../src/service/connections/mysql-pool.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { vouchersBegun } from '../../src/service/orders/change-journal.ts';
import { playedOn, rowsOf } from '../support/judged-drill.ts';
import { lockstep } from '../support/lockstep.ts';
import { ownLab, theLab } from '../support/own-lab.ts';

const lab = theLab(null);

const played = playedOn(lab);

test('every order of two buyers in two processes: the mutex breaks, the Redis lock holds', async () => {
  const rungs: RungName[] = ['check-then-insert', 'mutex-per-user', 'redis-atomic', 'row-lock'];
  const result = await played(allOrdersExperiment(), { rungs });
  expect(result).toMatchObject({ verdict: 'held', reasons: [] });
  const counts = rowsOf(result)?.map(([rung, , orders, broken]) => [rung, orders, broken]);
  expect(counts).toEqual([
    ['check-then-insert', '6', '4'],
    ['mutex-per-user', '20', '12'],
    ['redis-atomic', '6', '0'],
    ['row-lock', '4', '0'],
  ]);
});

const order = expect.stringMatching(/^. buys \(order \d+\)$/);

test('the choices that break the mutex find the second buyer waiting on the Redis lock', async () => {
  const mutex = await played(choicesByHand, { rung: 'mutex-per-user', choices: 'AABBAB' });
  expect(mutex).toMatchObject({ verdict: 'violated', isAsClaimed: true, reasons: [] });
  expect(rowsOf(mutex)).toEqual([
    ['A', 'A has the lock'],
    ['A', 'A has looked: it may buy'],
    ['B', 'B has the lock'],
    ['B', 'B has looked: it may buy'],
    ['A', order],
    ['B', order],
  ]);
  const lock = await played(choicesByHand, { rung: 'redis-atomic', choices: 'AABBAB' });
  expect(lock).toMatchObject({ verdict: 'held', isAsClaimed: true });
  expect(rowsOf(lock)).toEqual([
    ['A', 'A has the lock'],
    ['A', 'A has looked: it may buy'],
    ['B', 'B waits for the lock of A'],
    ['B', 'nothing: B waits for the lock of A'],
    ['A', order],
    ['', 'B has the lock'],
    ['B', 'B is told: you have an order'],
  ]);
});

test('a buyer that waits for a row is seen, and those who were not chosen again go on', async () => {
  const result = await played(choicesByHand, { rung: 'row-lock', choices: 'AB' });
  expect(rowsOf(result)).toEqual([
    ['A', 'A has looked: it may buy'],
    ['B', 'B waits for a row of the database'],
    ['(rest)', order],
    ['', 'B is told: sold out'],
  ]);
});

test('a killed buyer keeps its lock in Redis, and loses the one in its process', async () => {
  const redis = await played(choicesByHand, { rung: 'redis-no-expiry', choices: 'AXAB' });
  const waits = 'B waits for the lock of A, whose process was killed';
  expect(rowsOf(redis)).toEqual([
    ['A', 'A has the lock'],
    ['XA', 'A is killed, with its process'],
    ['B', waits],
  ]);
  expect(redis.figures).toEqual({ stillWaiting: 1 });
  const mutex = await played(choicesByHand, { rung: 'mutex-per-user', choices: 'AAXAB' });
  expect(rowsOf(mutex)?.slice(2)).toEqual([
    ['XA', 'A is killed, with its process'],
    ['B', 'B has the lock'],
    ['(rest)', order],
  ]);
  for (const { verdict, faults } of [redis, mutex]) {
    expect(verdict).toBe('held');
    expect(faults).toMatchObject({ 'kill the process of A': 1 });
  }
});

const playedByHand = Object.entries<Schedule>(schedules).flatMap(([name, schedule]) =>
  schedule.byHand ? [[name, schedule, schedule.byHand] as const] : [],
);

test.each(playedByHand)(
  '%s by hand shows what the race shows',
  async (_, { rung, next, shows }, hand) => {
    const result = await played(choicesByHand, { rung, ...hand });
    if (next === undefined)
      expect(result).toMatchObject({ verdict: 'held' }); // On every rung.
    else if (isAboutData(shows))
      expect(result).toMatchObject({ verdict: 'violated', isAsClaimed: true });
    else if (shows === 'mutual-exclusion')
      expect(result).toMatchObject({
        verdict: 'held',
        isAsClaimed: true,
        figures: { ownersAtOnce: 2 },
      });
    else expect(result.figures).toEqual({ stillWaiting: 1 });
    const rows = rowsOf(result)?.map(([, text]) => text) ?? [];
    expect(rows.filter((text) => /is answered|^nothing/.test(String(text)))).toEqual([]);
    const broken = choicesIn(hand.choices)?.filter((choice) => /^[XPSEKOZ]/.test(choice)) ?? [];
    expect(Object.keys(result.faults ?? {}).length).toBeGreaterThanOrEqual(broken.length);
  },
);

test.each([
  ...(['release-after-expiry', 'check-then-delete', 'lease-expires-during-sale'] as const),
  ...(['lease-without-watchdog', 'never-released', 'stale-promotion'] as const),
])('%s by hand does no harm on the next rung', async (race) => {
  const { next, byHand } = schedules[race];
  const result = await played(choicesByHand, { rung: next, ...byHand });
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true, figures: {} });
});

test('a lease that ends before the commit lets a second order in; fences refuse it', async () => {
  const late = { choices: 'AAAAEABBBA', stopsEverywhere: true } as const;
  const expiry = await played(choicesByHand, { rung: 'redis-expiry', ...late });
  expect(expiry).toMatchObject({ verdict: 'violated', isAsClaimed: true });
  expect(rowsOf(expiry)?.slice(3, 6)).toEqual([
    ['A', 'A is about to commit'],
    ['EA', 'the lease of A ends'],
    ['B', 'B has the lock'],
  ]);
  const fenced = await played(choicesByHand, { rung: 'fenced', ...late });
  expect(fenced).toMatchObject({ verdict: 'held', isAsClaimed: true });
  for (const { faults } of [expiry, fenced]) expect(faults).toEqual({ 'end the lease of A': 1 });
});

test.each(['redis-atomic', 'redis-message', 'redis-reentrant', 'redis-fair', 'redlock'] as const)(
  'on %s the end of a lease wakes its waiter, and its owner sells nothing',
  async (rung) => {
    const result = await played(choicesByHand, { rung, choices: 'AABEAA' });
    expect(rowsOf(result)).toEqual([
      ['A', 'A has the lock'],
      ['A', 'A has looked: it may buy'],
      ['B', 'B waits for the lock of A'],
      ['EA', 'the lease of A ends'],
      ['', 'B has the lock'],
      ['A', 'A is refused: its lease is over'],
      ['(rest)', order],
    ]);
    expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
  },
);

test('a lease that ends where its owner has just acquired it is over there, too', async () => {
  const result = await played(choicesByHand, { rung: 'redis-atomic', choices: 'AEAABB' });
  expect(rowsOf(result)?.slice(2)).toEqual([
    ['A', 'A has looked: it may buy'],
    ['B', 'B has the lock'],
    ['B', 'B has looked: it may buy'],
    ['(rest)', 'A is refused: its lease is over'],
    ['', order],
  ]);
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test('the lease that a choice ends is that of the newest owner, and of no other', async () => {
  const choices = 'AAEABACEB'; // A released late: the key is that of C, and B goes on without one.
  const result = await played(choicesByHand, { rung: 'redis-expiry', choices });
  expect(rowsOf(result)?.slice(5, 8)).toEqual([
    ['C', 'C has the lock'],
    ['', 'B and C have the lock at once'],
    ['EB', 'nothing: B has no lease that can end'],
  ]);
});

test.each([
  ...(['redis-reentrant', 'redis-spin', 'redis-fair', 'multilock'] as const).map(
    (rung) => [rung, 'is renewed', 'A is told: accepted'] as const,
  ),
  ...(['redis-expiry', 'redis-atomic', 'redis-reentrant-lease', 'redlock', 'fenced'] as const).map(
    (rung) => [rung, 'ends: nobody renews it', 'A is refused: its lease is over'] as const,
  ),
])('on %s, when the time of a lease passes, it %s', async (rung, becomes, told) => {
  const result = await played(choicesByHand, { rung, choices: 'AATABA' });
  const texts = rowsOf(result)?.map(([, text]) => text) ?? [];
  expect(texts[2]).toBe(`the lease of A ${becomes}`);
  const isRenewed = becomes === 'is renewed';
  expect(texts[3]).toBe(isRenewed ? 'B waits for the lock of A' : 'B has the lock');
  expect(texts[4]).toEqual(isRenewed ? order : told);
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test.each([
  ['whose event loop is blocked', 'AAZATABBRAA', 'block api-1'],
  ['that is paused', 'AAPATABBRAA', 'pause the process of A'],
  ['that is cut off', 'AAOATABBA', 'drop redis-main for api-1'],
])('a process %s renews no lease', async (_, choices, fault) => {
  const result = await played(choicesByHand, { rung: 'redis-reentrant', choices });
  const texts = rowsOf(result)?.map(([, text]) => text) ?? [];
  expect(texts).toContain('the lease of A ends: nobody renews it');
  expect(texts).toContain('A is refused: its lease is over');
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
  expect(result.faults).toMatchObject({ [fault]: 1 });
});

test('two owners of one lock are said to be so where a fence refuses the second order', async () => {
  const { byHand } = schedules['stale-promotion'];
  const result = await played(choicesByHand, { rung: 'fenced', ...byHand });
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
  expect(result.figures).toEqual({ ownersAtOnce: 2 });
});

test('a lock without a lease cannot lose it', async () => {
  for (const rung of ['mutex-per-user', 'redis-no-expiry', 'zookeeper'] as const) {
    const result = await played(choicesByHand, { rung, choices: 'AEATA' });
    expect(rowsOf(result)?.[1]).toEqual(['EA', 'nothing: A has no lease that can end']);
    expect(rowsOf(result)?.[2]).toEqual(['TA', 'nothing: A has no lease that can end']);
    expect(result.faults).toEqual({});
  }
});

test('Redlock sells without one master, not without two, and again with two', async () => {
  const result = await played(choicesByHand, { rung: 'redlock', choices: 'S1S2AH1BBB' });
  expect(rowsOf(result)).toEqual([
    ['S1', 'redis-1 stops'],
    ['S2', 'redis-2 stops'],
    ['A', 'A gives up: the lock has no answer'],
    ['H1', 'redis-1 runs again'],
    ['B', 'B has the lock'],
    ['B', 'B has looked: it may buy'],
    ['B', order],
  ]);
  expect(lab().servers.filter(({ alive }) => !alive)).toEqual([]);
  const other = await played(choicesByHand, { rung: 'redis-atomic', choices: 'S1A' });
  expect(rowsOf(other)?.[0]?.[1]).toMatch(/^nothing: this rung does not ask redis-1/);
});

test('a choice of the worker is none where it is no lane', async () => {
  const result = await played(choicesByHand, { rung: 'row-lock', choices: 'WSWA' });
  const nothing = 'nothing: the order worker is no lane on this rung';
  expect(rowsOf(result)?.slice(0, 2)).toEqual([
    ['W', nothing],
    ['SW', nothing],
  ]);
  expect(result.faults).toEqual({});
});

const sentBy = ({ tables = [] }: Result) =>
  tables.at(-1)?.rows.map(([choice, cell]) => {
    const text = cell === undefined ? '' : cellText('en', cell);
    return `${choice} ${text.replaceAll(/\d{15,}/g, '<id>')}`.trim();
  });

test('a choice says what it sent to Redis and MySQL, and then nobody listens any more', async () => {
  const result = await played(choicesByHand, {
    ...{ rung: 'redis-list-reliable', choices: 'AAWWB', hasCommands: true },
  });
  const sent = sentBy(result)?.join('\n') ?? '';
  const inOrder = [
    ...['^A redis-main: evalsha', 'redis-main, in Lua: hincrby', 'redis-main: lpush'],
    ...['W mariadb: ', 'INSERT INTO orders', 'UPDATE seckill_stock', 'mariadb: COMMIT'],
    ...['\nW redis-main: lrem', '\nB redis-main: evalsha'],
  ];
  const places = inOrder.map((text) => sent.search(new RegExp(text, 'i')));
  expect(places, sent).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  const atomic = { rung: 'redis-atomic', choices: 'AAA', hasCommands: true } as const;
  const locked = sentBy(await played(choicesByHand, atomic))?.join('\n');
  expect(locked).toMatch(/^A redis-main: set lock:.*\n.*mariadb: COMMIT\nredis-main: eval/s);
  const stopped = { rung: 'redlock', choices: 'S1AH1B', hasCommands: true } as const;
  const masters = sentBy(await played(choicesByHand, stopped))?.join('\n');
  expect(masters).toMatch(/^A redis-[23]: /);
  expect(masters).toMatch(/\nB redis-/);
  const data = lab().dataFolder(lab().database);
  const [rows] = await asDatabaseRoot(data, (root) => root.query('SELECT @@general_log AS log'));
  expect(rows).toEqual([{ log: 0 }]);
});

test('what a process asks by itself, once in a while, was sent by no choice', async () => {
  const limits = { connectionLimit: 2, answerMs: 10_000, askEveryMs: 5 };
  const pool = openPool(ownLab.environment['MYSQL_URL'] ?? '', limits);
  onTestFinished(() => pool.end());
  await Promise.all([readEpoch(pool), vouchersBegun(pool, 0)]); // Prepared before the log begins.
  let isPlaying = true;
  const choices = { rung: 'mutex-per-user', choices: 'AAA', hasCommands: true } as const;
  const result = played(choicesByHand, choices).finally(() => {
    isPlaying = false;
  });
  while (isPlaying) await Promise.all([readEpoch(pool), vouchersBegun(pool, 0)]);
  expect(sentBy(await result)?.join('\n')).toMatch(
    /^A mariadb: (?!.*(store_epoch|READ WRITE|voucher_changes))/s,
  );
});

test('a statement that an instance has prepared before is heard, if without its values', async () => {
  const choices = { rung: 'mutex-per-user', choices: 'AABBAB' } as const;
  await played(choicesByHand, choices);
  const sent = sentBy(await played(choicesByHand, { ...choices, hasCommands: true }))?.join('\n');
  const looks = 'SELECT .*?voucher_id = ..*?';
  const writes = 'UPDATE .*?voucher_id = ..*?INSERT .*?COMMIT.*?';
  expect(sent).toMatch(
    new RegExp(
      `^A mariadb.*?${looks}\\nB mariadb.*?${looks}\\nA .*?${writes}\\nB .*?${writes}`,
      's',
    ),
  );
});

test('orders on a lock whose server is away are unknown, and not held', async () => {
  const server = lab().server('zookeeper');
  await server.kill();
  onTestFinished(() => server.start());
  const result = await played(allOrdersExperiment(), { rungs: ['zookeeper'] });
  expect(result).toMatchObject({
    verdict: 'unknown',
    reasons: [{ en: expect.stringMatching('zookeeper') }],
  });
});

test('the command prints the play, and the same choices for the next rung', async () => {
  const run = ['race', '--choices', 'a,a,b,b', '--rung', 'mutex-per-user'];
  const { stdout, exitCode } = await lockstep(...run);
  expect(stdout).toContain('race --choices AABB --rung redis-no-expiry');
  expect(stdout.split('\n').filter((line) => line.length > 79 && !line.includes('/'))).toEqual([]);
  expect(exitCode).toBe(0);
});
