/** Pauses as text, and races: the lines that are printed, and the verdict. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endsWithinLease, type LockFaultName } from '../../src/lab/races/lock-faults.ts';
import { type Pause, parsePause, pauseText } from '../../src/lab/races/pauses.ts';
import {
  killed,
  noEffect,
  outlastsLease,
  type PlayedStep,
  type RaceResult,
  raceVerdict,
  recordedAnyway,
  slow,
  unreached,
} from '../../src/lab/races/race-verdict.ts';
import { laneOf, type RaceName, type Schedule, schedules } from '../../src/lab/races/schedules.ts';
import { waitingProcess } from '../../src/lab/races/waiting-process.ts';
import { raceText, textWidth } from '../../src/lab/report/race-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import type { Stop } from '../../src/lab/stage/player.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { someFolder } from '../support/folder.ts';
import { accepted, facts, type Given, history, lockFacts, refused, row, unknown } from './facts.ts';

describe('a pause', () => {
  test.each<[string, Pause]>([
    ['after-check:1:500', { at: 'after-check', nth: 1, until: 500 }],
    [' after-check:12:before-commit', { at: 'after-check', nth: 12, until: 'before-commit' }],
    ['stock-taken:1:0', { at: 'stock-taken', nth: 1, until: 0 }],
  ])('may be %j', (text, pause) => {
    expect(parsePause(text)).toEqual(pause);
    expect(parsePause(pauseText(pause))).toEqual(pause);
  });

  test.each([
    'after-check',
    'after-check:0:500',
    'after-check:1:',
    'after-check:1:-1',
    'nowhere:1:500',
    'after-check:1:nowhere',
    'after-check:1:500:1',
    'after-check:1:999999',
    'toString:1:500',
  ])('may not be %j', (text) => expect(parsePause(text)).toBeNull());
});

describe.each(Object.entries(schedules))('the race %s', (name, schedule: Schedule) => {
  const race = name as RaceName;
  const steps = schedule.steps.map((step) => ({
    lane: laneOf(step),
    text: step.text,
    wrong: 'wrong' in step,
    asPlanned: true,
    at: 'order 9223372036854775807',
    instance: 'api-4',
  }));
  const { rung, title, shows } = schedule;
  const result: RaceResult = {
    ...{ race, rung, title, shows, steps, evidence: '', asClaimed: true },
    ...{ verdict: 'violated', claim: 'violated', waitsFor: 'lock', alsoBroken: [] },
  };
  const drawn = (played: RaceResult) =>
    raceText(played)
      .split('\n')
      .filter((line) => /^ ?\d+ /.test(line));

  test('has one line for each step that fits the terminal, and at least two lanes', () => {
    expect(drawn(result)).toHaveLength(schedule.steps.length);
    expect(
      raceText(result)
        .split('\n')
        .filter((line) => columns(line) > 80),
    ).toEqual([]);
    expect(new Set(steps.map(({ lane }) => lane)).size).toBeGreaterThanOrEqual(2);
    for (const { text } of steps) expect(text.length).toBeLessThanOrEqual(textWidth);
  });

  test('has its wrong step marked, when it shows the violation', () => {
    const marked = drawn(result).map((line) => line.includes('✗'));
    expect(marked).toEqual(steps.map(({ wrong }) => wrong));
    const held = drawn({ ...result, verdict: 'held' }).join('');
    expect(held).not.toContain('✗');
    // On a rung that holds, the wrong step did something else.
    expect(held).not.toContain(steps.find(({ wrong }) => wrong)?.text);
  });
});

describe('the process in which a request waits', () => {
  const write = (folder: string, file: string, ...lines: readonly string[]) => {
    const text = history(...lines).map((event) => `${JSON.stringify(event)}\n`);
    writeFileSync(join(folder, file), text.join(''));
  };

  test('is the one whose last event of the lock is its request', () => {
    const folder = someFolder();
    write(folder, 'api-1-11.jsonl', '0 a 7 received', '1 a 7 requested', '2 a 7 granted');
    write(folder, 'api-2-22.jsonl', '3 b 8 received', '4 b 8 requested', '5 b 8 before-subscribe');
    expect(waitingProcess(folder, 'r8', 'lock')).toBe(22);
    expect(waitingProcess(folder, 'r7', 'lock')).toBeUndefined();
    expect(waitingProcess(folder, 'r9', 'lock')).toBeUndefined();
  });

  test('is, without a lock, the API process that has received it and has no outcome yet', () => {
    const folder = someFolder();
    write(
      folder,
      'api-1-11.jsonl',
      '0 a 7 received',
      '1 a 7 after-check',
      '2 b 8 received',
      '3 b 8 accepted',
    );
    write(folder, 'api-worker-1-33.jsonl', '4 b 8 recorded');
    expect(waitingProcess(folder, 'r7', 'store')).toBe(11);
    expect(waitingProcess(folder, 'r8', 'store')).toBeUndefined();
  });
});

test('a server that restarts within the lease is late after it; one that stays away is not', () => {
  const names = ['restart-all', 'restart-empty', 'promote-replica', 'start-empty', 'stop-first'];
  const late = names.filter((name) => endsWithinLease(name as LockFaultName));
  expect(late).toEqual(['restart-all', 'restart-empty', 'promote-replica']);
});

describe('the verdict of a race', () => {
  const step: PlayedStep = { ...{ lane: 'A', text: '', wrong: false, asPlanned: true }, at: 'x' };
  const judge = (race: RaceName, rung: RungName, given: Given = {}, at = 'answer') =>
    raceVerdict(race, rung, schedules[race], { steps: [{ ...step, at }], stops: [] }, facts(given));
  const fixed = (given: Given = {}, at?: string) =>
    judge('lost-update', schedules['lost-update'].next, given, at);
  const buggy = (given: Given = {}) => judge('lost-update', schedules['lost-update'].rung, given);
  const oversold: Given = { initialStock: 1, stock: 0, redis: { stock: 0 } };
  const stalled: Given = {
    orders: [row('a', '7'), row('b', '7')],
    attempts: [accepted('7', 'a'), accepted('7', 'b')],
    redis: { buyers: { 7: 'a' } },
    history: history('0 a 7 granted', '1 b 7 granted', '2 b 7 releasing', '3 a 7 releasing'),
  };

  test('is held when a sale was made and the promise holds', () => {
    expect(fixed()).toMatchObject({ verdict: 'held', claim: 'held', asClaimed: true });
  });

  test('is held with the number of writes that MySQL refused, as its evidence', () => {
    const given = { history: [...(facts().history ?? []), ...history('9 c 1 duplicate')] };
    expect(fixed(given)).toMatchObject({
      ...{ verdict: 'held', evidence: 'writes that MySQL refused: 1 by the unique key' },
    });
    expect(fixed().evidence).toBe('');
  });

  test('is unknown when a lane that no fault hits lost its lease', () => {
    const lost = (lane: string): Given => ({
      attempts: [accepted('7', 'a'), { ...refused('7', 'lease-lost'), requestId: `x-${lane}` }],
      orders: [row('a', '7')],
    });
    const played = judge('paused-holder', 'redis-reentrant', lost('B'));
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
    expect(played.evidence).toContain('B lost its lease');
    expect(judge('paused-holder', 'redis-reentrant', lost('A')).verdict).toBe('held');
  });

  test('is unknown when a lane lost its lease before the fault', () => {
    const given: Given = { orders: [row('a', '7')], attempts: [accepted('7', 'a')] };
    const played = judge('paused-holder', 'fenced', given, 'lease-lost');
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false, isSlow: true });
    expect(played.evidence).toContain('A lost its lease before the fault');
  });

  test('is unknown when a server was away longer than a lease, and a lane lost its lease', () => {
    const late: Given = {
      ...stalled,
      orders: [row('a', '7')],
      attempts: [accepted('7', 'a'), refused('7', 'lease-lost')],
    };
    const played = judge('restart-with-data', 'zookeeper', late, outlastsLease);
    expect(played).toMatchObject({ verdict: 'unknown', isSlow: true });
    expect(played.evidence).toContain('a server was away longer than a lease');
    const both = judge('restart-with-data', 'zookeeper', stalled, outlastsLease);
    expect(both).toMatchObject({ verdict: 'violated', asClaimed: false, isSlow: false });
    const quick = judge('restart-with-data', 'zookeeper', late, 'injected');
    expect(quick).toMatchObject({ asClaimed: false, isSlow: false });
  });

  test('is violated on a slow machine, too, when it shows just what the ladder claims', () => {
    const lost = refused('7', 'lease-lost'); // So that the race would be too slow.
    const late = { ...stalled, attempts: [accepted('7', 'a'), accepted('7', 'b'), lost] };
    const played = judge('restart-empty', 'redlock', late, outlastsLease);
    expect(played).toMatchObject({ verdict: 'violated', asClaimed: true, isSlow: false });
  });

  test('is violated, with the proof, when the check of the race found a violation', () => {
    const played = buggy(oversold);
    expect(played).toMatchObject({ verdict: 'violated', claim: 'violated', asClaimed: true });
    expect(played.evidence).toContain('2 orders for 1 in stock');
    expect(played.proof?.rows.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('is not as claimed when the rung with the bug holds, or the next rung breaks', () => {
    expect(buggy()).toMatchObject({ verdict: 'held', asClaimed: false });
    expect(fixed(oversold)).toMatchObject({ verdict: 'violated', asClaimed: false });
  });

  test('is not as claimed when a check broke that no row claims', () => {
    const played = fixed({ orders: [row('a', '1'), row('b', '1')] });
    expect(played).toMatchObject({ verdict: 'held', asClaimed: false });
    expect(played.evidence).toContain('one-order-per-user, which the ladder does not claim');
  });

  test('is as claimed when every claimed break of the circumstance showed', () => {
    const played = judge('lease-expires-during-sale', 'redis-atomic', stalled);
    expect(played).toMatchObject({ shows: 'one-order-per-user', verdict: 'violated' });
    expect(played.asClaimed).toBe(true);
  });

  test('is not as claimed when one claimed break of the circumstance did not show', () => {
    const apart = history('0 a 7 granted', '1 a 7 releasing', '2 b 7 granted', '3 b 7 releasing');
    const given = { ...stalled, history: apart };
    const played = judge('lease-expires-during-sale', 'redis-atomic', given);
    expect(played).toMatchObject({ verdict: 'violated', asClaimed: false });
    expect(played.evidence).toContain('the ladder claims mutual-exclusion, which did not break');
  });

  test('is that of the break which the rung claims, when it does not promise the check', () => {
    const given = { ...stalled, onePerUser: false };
    expect(judge('lease-expires-during-sale', 'redis-stock', given)).toMatchObject({
      ...{ shows: 'mutual-exclusion', verdict: 'violated', claim: 'violated', asClaimed: true },
    });
  });

  test('is on what every rung promises, when the rung does not promise the check', () => {
    const given = { onePerUser: false, locked: false };
    expect(judge('paused-holder', 'row-lock', given)).toMatchObject({
      ...{ shows: 'no-oversell', verdict: 'held', claim: 'held', asClaimed: true },
    });
    const lost = { ...given, stock: 0, redis: { stock: 0 } };
    expect(judge('paused-holder', 'row-lock', lost)).toMatchObject({
      ...{ shows: 'no-oversell', verdict: 'violated', claim: 'held', asClaimed: false },
    });
  });

  test('needs the break that the rung claims under the fault, also when nobody bought', () => {
    const leftWith = (stockInRedis: number) => {
      const attempts = [unknown('7'), refused('8', 'sold-out')];
      const redis = { stock: stockInRedis, buyers: {} };
      const given = { initialStock: 1, stock: 1, orders: [], attempts, redis };
      return judge('crash-between-writes', 'redis-stock', given, killed);
    };
    expect(leftWith(0)).toMatchObject({
      ...{ shows: 'redis-matches-mysql', verdict: 'violated', asClaimed: true },
    });
    expect(leftWith(1)).toMatchObject({ verdict: 'unknown', asClaimed: false });
    expect(leftWith(1).evidence).toContain('the ladder claims redis-matches-mysql');
  });

  test('names every other check that broke', () => {
    const both = { ...stalled, redis: { buyers: { 7: 'a' } } };
    const played = judge('lease-expires-during-sale', 'redis-atomic', both);
    expect(played.alsoBroken).toContain('mutual-exclusion');
    expect(raceText(played)).toContain('also broken, as the ladder claims: mutual-exclusion');
  });

  describe('of lanes that should stop at a place', () => {
    const play = (places: readonly string[], given: Given = {}, stops: readonly Stop[] = []) =>
      raceVerdict(
        'lost-update',
        schedules['lost-update'].next,
        schedules['lost-update'],
        { steps: places.map((at) => ({ ...step, at })), stops },
        facts(given),
      );
    const own = (given: Given = {}): Given => ({
      ...given,
      attempts: [{ ...accepted('1', 'a'), requestId: 'x-A' }, accepted('2', 'b')],
    });

    test('is unknown when one of them bought instead: the rung has no such place', () => {
      const played = play(['order a', 'after-check', 'order a', 'order b'], own());
      expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
      expect(played.evidence).toContain('the two cannot be interleaved here: A was answered');
    });

    test('is unknown when it passed the place, and did not stop', () => {
      const passed = history('0 a 1 after-check').map((event) => ({ ...event, requestId: 'x-A' }));
      const all = [...passed, ...(facts().history ?? [])];
      const played = play(['order a', 'after-check', 'x', 'y'], own({ history: all }));
      expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
      expect(played.evidence).toBe('A did not stop at after-check: order a');
    });

    test('is unknown when the first of them was refused: nobody was before it', () => {
      const given = {
        attempts: [accepted('1', 'a'), accepted('2', 'b'), refused('3', 'conflict')],
      };
      expect(play(['conflict', 'after-check', 'x', 'y'], given).verdict).toBe('unknown');
      expect(play(['after-check', 'conflict', 'x', 'y'], given).verdict).toBe('held');
    });

    test('is unknown when one of them went on before it was resumed', () => {
      const stop = { lane: 'A', checkpoint: 'after-check', instance: 'api-1' } as const;
      const at = (ms: number) => String(ms * 1_000_000);
      const went = history('5 a 1 before-commit').map((each) => ({ ...each, requestId: 'x-A' }));
      const given = { history: [...(facts().history ?? []), ...went] };
      const seen = (from: number, to: number) =>
        play(['after-check', 'x', 'y', 'z'], given, [{ ...stop, from: at(from), to: at(to) }]);
      expect(seen(4, 6)).toMatchObject({ verdict: 'unknown', asClaimed: false });
      expect(seen(4, 6).evidence).toBe('A did not stay at after-check');
      expect(seen(6, 9).verdict).toBe('held');
    });

    test('is unknown when a fault was injected and had no effect', () => {
      const played = play(['after-check', noEffect, 'x', 'y']);
      expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
      expect(played.evidence).toBe('a fault had no effect');
    });
  });

  const oneBought = { attempts: [accepted('1', 'a'), accepted('2', 'b')] };
  const nobody: Given = { ...lockFacts(), attempts: [refused('1', 'busy')] };
  test.each<[string, Given, string]>([
    ['nobody bought', nobody, 'answer'],
    ['a fault found no request of its lane', {}, unreached],
    ['a fault did not keep the order from the database', {}, recordedAnyway],
    ['a lane neither arrived nor waited', {}, slow],
    [
      'an answer does not belong to a sale',
      { attempts: [...oneBought.attempts, refused('3', 'lock-service-unavailable')] },
      'answer',
    ],
    [
      'MySQL was busy, which is not a lock that was busy',
      { attempts: [...oneBought.attempts, refused('3', 'database-busy')] },
      'answer',
    ],
    [
      'an outcome is unknown although no process was killed',
      { attempts: [...oneBought.attempts, unknown('3')] },
      'answer',
    ],
  ])('is unknown, and not as claimed, when %s', (_, given, at) => {
    const played = fixed(given, at);
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
    expect(played.evidence).not.toBe('');
  });

  test('is unknown when servers should be away, and nobody was refused because of them', () => {
    const played = judge('servers-slow', 'redlock');
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
    expect(played.evidence).toBe('nobody was answered lock-service-unavailable');
    const away = refused('3', 'lock-service-unavailable');
    const attempts = [...(facts().attempts ?? []), away];
    const seen = judge('servers-slow', 'redlock', { attempts });
    expect([seen.verdict, seen.evidence]).toEqual(['held', '']);
  });

  test('is slow when its first lane waits: nobody was there to wait for', () => {
    expect(fixed({}, 'waits')).toMatchObject({ verdict: 'unknown', isSlow: true });
    expect(buggy(stalled)).toMatchObject({ isSlow: false });
  });

  test('is unknown while an order is still queued: what becomes of it is not known', () => {
    const race = 'worker-dies-after-commit';
    const judged = (queued: string[]) =>
      judge(race, 'redis-list-reliable', { redis: { queued } }, killed);
    expect(judged([])).toMatchObject({ verdict: 'held', asClaimed: true });
    expect(judged(['a'])).toMatchObject({ verdict: 'unknown', asClaimed: false });
    expect(judged(['a']).evidence).toBe('an order is still queued');
  });

  test('may have an unknown outcome when a process was killed', () => {
    const given = { attempts: [...oneBought.attempts, unknown('3')] };
    expect(fixed(given, killed)).toMatchObject({ verdict: 'held', asClaimed: true });
  });

  test.each(['slow', unreached])('stays violated with a lane that is %j', (at) => {
    const { rung } = schedules['lost-update'];
    expect(judge('lost-update', rung, oversold, at)).toMatchObject({ verdict: 'violated' });
  });

  test('is unknown when the audit skips the check of the race', () => {
    const played = judge('two-processes', 'redis-no-expiry', { onePerUser: false });
    expect(played).toMatchObject({ verdict: 'unknown', asClaimed: false });
  });
});
