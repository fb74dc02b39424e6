/** Pauses as text, and races: the lines that are printed, and the verdict. */
import { describe, expect, test } from 'vitest';
import { endsWithinLease, type LockFaultName } from '../../src/lab/play/lock-faults.ts';
import { type Pause, parsePause, pauseText } from '../../src/lab/play/pauses.ts';
import { type RaceResult, raceVerdict } from '../../src/lab/play/race-verdict.ts';
import { type RaceName, type Schedule, schedules } from '../../src/lab/play/schedules.ts';
import { raceText, textWidth } from '../../src/lab/report/race-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import type { PlayedStep } from '../../src/lab/stage/events.ts';
import type { ReachedPlace } from '../../src/lab/stage/place.ts';
import type { Stop } from '../../src/lab/stage/player.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import {
  accepted,
  bought,
  facts,
  type Given,
  history,
  lockFacts,
  missed,
  refused,
  row,
  standsAt,
  told,
  unknown,
} from './facts.ts';

describe('a pause', () => {
  test.each<[string, Pause]>([
    ['after-check:1:500', { at: 'after-check', nth: 1, until: 500 }],
    [' after-check:12:before-commit', { at: 'after-check', nth: 12, until: 'before-commit' }],
  ])('may be %j', (text, pause) => {
    expect(parsePause(text)).toEqual(pause);
    expect(parsePause(pauseText(pause))).toEqual(pause);
  });

  test.each([
    ...['after-check', 'after-check:0:500', 'after-check:1:-1', 'after-check:1:500:1'],
    ...['nowhere:1:500', 'after-check:1:nowhere', 'after-check:1:999999', 'toString:1:500'],
  ])('may not be %j', (text) => expect(parsePause(text)).toBeNull());
});

const longest: ReachedPlace = {
  is: 'answered',
  attempt: { outcome: 'accepted', orderId: '9223372036854775807', instance: 'api-4' },
};

test.each(Object.entries(schedules))('the race %s is drawn', (name, schedule: Schedule) => {
  const steps = schedule.steps.map(({ lane, says, wrong: isWrong = false }) => ({
    ...{ lane, says, isWrong, asPlanned: true },
    place: longest,
  }));
  const { rung, shows } = schedule;
  const title = schedule.title.en;
  const result: RaceResult = {
    ...{ race: name as RaceName, rung, title, shows, steps, evidence: '', asClaimed: true },
    ...{ verdict: 'violated', claim: 'violated', alsoBroken: [] },
  };
  const lines = raceText(result).split('\n');
  expect(lines.filter((line) => columns(line) > 80)).toEqual([]);
  expect(new Set(steps.map(({ lane }) => lane)).size).toBeGreaterThanOrEqual(2);
  for (const { says } of steps) expect(says.en.length).toBeLessThanOrEqual(textWidth);
  const drawn = lines.filter((line) => /^ ?\d+ /.test(line));
  expect(drawn.map((line) => line.includes('✗'))).toEqual(steps.map(({ isWrong }) => isWrong));
  // On a rung that holds, the wrong step did something else.
  const held = raceText({ ...result, verdict: 'held' }).split('\n\n')[1];
  expect(held).not.toContain('✗');
  expect(held).not.toContain(steps.find(({ isWrong }) => isWrong)?.says.en);
});

test('a server that restarts within the lease is late after it; one that stays away is not', () => {
  const names = ['restart-all', 'restart-empty', 'promote-replica', 'start-empty', 'stop-first'];
  const late = names.filter((name) => endsWithinLease(name as LockFaultName));
  expect(late).toEqual(['restart-all', 'restart-empty', 'promote-replica']);
});

describe('the verdict of a race', () => {
  interface Case {
    readonly on?: readonly [RaceName, RungName];
    readonly given?: Given;
    /** Where the lane is after each of the first steps. */
    readonly at?: readonly ReachedPlace[];
    readonly stops?: readonly Stop[];
    readonly is: object;
  }
  const { rung, next } = schedules['lost-update'];
  const buggy = ['lost-update', rung] as const;
  const fixed = ['lost-update', next] as const;
  const judge = ({ on: [race, name] = fixed, at = [told('x')], ...has }: Omit<Case, 'is'>) => {
    const steps = at.map((place): PlayedStep => ({ ...step, place }));
    const { stops = [], given } = has;
    return raceVerdict(race, name, { steps, stops }, facts(given));
  };
  const step = { lane: 'A', says: { en: '', zh: '' }, isWrong: false, asPlanned: true };

  const oversold: Given = { initialStock: 1, stock: 0, redis: { stock: 0 } };
  /** Two orders of one user, in two leases at once. */
  const stalled: Given = {
    orders: [row('a', '7'), row('b', '7')],
    attempts: [accepted('7', 'a'), accepted('7', 'b')],
    redis: { buyers: { 7: 'a' } },
    history: history('0 a 7 granted', '1 b 7 granted', '2 b 7 releasing', '3 a 7 releasing'),
  };
  const apart = history('0 a 7 granted', '1 a 7 releasing', '2 b 7 granted', '3 b 7 releasing');
  const leaseLost = refused('7', 'lease-lost');
  const ofLane = <Each extends object>(each: Each, lane: string) => ({
    ...{ ...each, requestId: `x-${lane}` },
  });
  const oneLost = (lane: string): Given => ({
    attempts: [accepted('7', 'a'), ofLane(leaseLost, lane)],
    orders: [row('a', '7')],
  });
  const lateAway = { ...stalled, ...oneLost('') };
  const also = (...attempts: Attempt[]): Given => ({
    attempts: [accepted('1', 'a'), accepted('2', 'b'), ...attempts],
  });
  const seen = (event: string, lane: string): Given => ({
    history: [...(facts().history ?? []), ...history(event).map((each) => ofLane(each, lane))],
  });
  const unsold = (stockInRedis: number): Given => ({
    ...{ initialStock: 1, stock: 1, orders: [], redis: { stock: stockInRedis, buyers: {} } },
    attempts: [unknown('7'), refused('8', 'sold-out')],
  });

  const held = { verdict: 'held', asClaimed: true } as const;
  const violated = { verdict: 'violated', asClaimed: true } as const;
  const undecided = (because: string) => ({
    ...{ verdict: 'unknown', asClaimed: false, evidence: expect.stringContaining(because) },
  });
  const expiring = ['lease-expires-during-sale', 'redis-atomic'] as const;
  const away = ['restart-with-data', 'zookeeper'] as const;

  const cases: Readonly<Record<string, Case>> = {
    'is held with the number of writes that MySQL refused, as its evidence': {
      given: seen('9 c 1 duplicate', 'C'),
      is: { ...held, evidence: 'writes that MySQL refused: 1 by the unique key' },
    },
    'is unknown when a lane that no fault hits lost its lease': {
      ...{ on: ['paused-holder', 'redis-reentrant'], given: oneLost('B') },
      is: undecided('B lost its lease'),
    },
    'is held when the lane that the fault hits lost its lease': {
      ...{ on: ['paused-holder', 'redis-reentrant'], given: oneLost('A'), is: { verdict: 'held' } },
    },
    'is unknown when a lane lost its lease before the fault': {
      ...{ on: ['paused-holder', 'fenced'], at: [told('lease-lost')] },
      given: { orders: [row('a', '7')], attempts: [accepted('7', 'a')] },
      is: { ...undecided('A lost its lease before the fault'), isSlow: true },
    },
    'is unknown when a server was away longer than a lease, and a lane lost its lease': {
      ...{ on: away, given: lateAway, at: [missed('outlasts-the-lease')] },
      is: { ...undecided('a server was away longer than a lease'), isSlow: true },
    },
    'is violated when a server was away for so long, and no lane lost its lease': {
      ...{ on: away, given: stalled, at: [missed('outlasts-the-lease')] },
      is: { verdict: 'violated', asClaimed: false, isSlow: false },
    },
    'is violated on a slow machine, too, when it shows just what the ladder claims': {
      ...{ on: ['restart-empty', 'redlock'], at: [missed('outlasts-the-lease')] },
      given: { ...stalled, attempts: [...(stalled.attempts ?? []), leaseLost] },
      is: { ...violated, isSlow: false },
    },
    'is slow when its first lane waits: nobody was there to wait for': {
      ...{ at: [{ is: 'waits', on: 'row' }], is: { verdict: 'unknown', isSlow: true } },
    },
    'is violated, with the proof, when the check of the race found a violation': {
      ...{ on: buggy, given: oversold },
      is: {
        ...{ ...violated, evidence: expect.stringContaining('2 orders for 1 in stock') },
        proof: expect.objectContaining({ rows: [row('a', '1'), row('b', '2')] }),
      },
    },
    'is not as claimed when a check broke that no row claims': {
      given: { orders: [row('a', '1'), row('b', '1')] },
      is: {
        ...{ verdict: 'held', asClaimed: false },
        evidence: expect.stringContaining('one-order-per-user, which the ladder does not claim'),
      },
    },
    'is not as claimed when one claimed break of the circumstance did not show': {
      ...{ on: expiring, given: { ...stalled, history: apart } },
      is: {
        ...{ verdict: 'violated', asClaimed: false },
        evidence: expect.stringContaining('claims mutual-exclusion, which did not break'),
      },
    },
    'is on what every rung promises, when the rung does not promise the check': {
      ...{ on: ['paused-holder', 'row-lock'], given: { onePerUser: false, locked: false } },
      is: { ...held, shows: 'no-oversell', claim: 'held' },
    },
    'needs the break that the rung claims under the fault, also when nobody bought': {
      ...{ on: ['crash-between-writes', 'redis-stock'], given: unsold(0), at: [{ is: 'dead' }] },
      is: { ...violated, shows: 'redis-matches-mysql' },
    },
    'is unknown when nobody bought, and the claimed break did not show': {
      ...{ on: ['crash-between-writes', 'redis-stock'], given: unsold(1), at: [{ is: 'dead' }] },
      is: undecided('the ladder claims redis-matches-mysql'),
    },
    'is unknown when the audit skips the check of the race': {
      ...{ on: ['two-processes', 'redis-no-expiry'], given: { onePerUser: false } },
      is: undecided(''),
    },
    'is unknown when nobody bought': {
      ...{ given: { ...lockFacts(), attempts: [refused('1', 'busy')] }, is: undecided('nobody') },
    },
    'is unknown when a fault found no request of its lane': {
      ...{ at: [missed('not-there')], is: undecided('a fault found no request') },
    },
    'stays violated when a fault found no request of its lane': {
      ...{ on: buggy, given: oversold, at: [missed('not-there')], is: { verdict: 'violated' } },
    },
    'is unknown when a fault did not keep the order from the database': {
      ...{ at: [missed('recorded-anyway')], is: undecided('a fault did not keep the order') },
    },
    'is unknown when a lane neither arrived nor waited': {
      ...{ at: [missed('slow')], is: undecided('a lane neither arrived') },
    },
    'is unknown when an answer does not belong to a sale': {
      ...{ given: also(refused('3', 'lock-service-unavailable')), is: undecided('user 3') },
    },
    'is unknown when MySQL was busy, which is not a lock that was busy': {
      ...{ given: also(refused('3', 'database-busy')), is: undecided('user 3') },
    },
    'is unknown when an outcome is unknown although no process was killed': {
      ...{ given: also(unknown('3')), is: undecided('user 3 was answered') },
    },
    'may have an unknown outcome when a process was killed': {
      ...{ given: also(unknown('3')), at: [{ is: 'dead' }], is: held },
    },
    'is unknown when servers should be away, and nobody was refused because of them': {
      on: ['servers-slow', 'redlock'],
      is: { ...undecided(''), evidence: 'nobody was answered lock-service-unavailable' },
    },
    'is held when servers should be away, and one was refused because of them': {
      ...{ on: ['servers-slow', 'redlock'], is: { ...held, evidence: '' } },
      given: also(refused('3', 'lock-service-unavailable')),
    },
    'is unknown while an order is still queued: what becomes of it is not known': {
      ...{ on: ['worker-dies-after-commit', 'redis-list-reliable'], at: [{ is: 'dead' }] },
      given: { redis: { queued: ['a'] } },
      is: { ...undecided(''), evidence: 'an order is still queued' },
    },
    'is unknown when a lane bought where it should stop: the rung has no such place': {
      ...{ at: [bought('a'), standsAt('after-check'), bought('a'), bought('b')] },
      is: undecided('the two cannot be interleaved here: A was answered'),
    },
    'is unknown when a lane passed the place where it should stop': {
      at: [bought('a'), standsAt('after-check'), told('x'), told('y')],
      given: {
        attempts: [ofLane(accepted('1', 'a'), 'A'), accepted('2', 'b')],
        ...seen('0 a 1 after-check', 'A'),
      },
      is: { ...undecided(''), evidence: 'A did not stop at after-check: order a' },
    },
    'is unknown when a lane should stop where it stood before': {
      at: [standsAt('after-check'), bought('a'), told('x'), told('y')],
      given: {
        attempts: [ofLane(accepted('1', 'a'), 'A'), accepted('2', 'b')],
        ...seen('0 a 1 after-check', 'A'),
      },
      is: undecided('A stood at after-check at an earlier step, and cannot stop there twice'),
    },
    'is unknown when the first lane was refused: nobody was before it': {
      ...{
        at: [told('conflict'), standsAt('after-check'), told('x'), told('y')],
        given: also(refused('3', 'conflict')),
      },
      is: undecided(''),
    },
    'is held when the second lane was refused': {
      ...{
        at: [standsAt('after-check'), told('conflict'), told('x'), told('y')],
        given: also(refused('3', 'conflict')),
      },
      is: held,
    },
    'is unknown when a fault was injected and had no effect': {
      ...{ at: [standsAt('after-check'), missed('no-effect'), told('x'), told('y')] },
      is: { ...undecided(''), evidence: 'a fault had no effect' },
    },
  };
  test.each(Object.entries(cases))('%s', (_, { is, ...played }) => {
    expect(judge(played)).toMatchObject(is);
  });

  test('is unknown when a lane went on before it was resumed', () => {
    const stayed = (from: number, to: number) => {
      const times = { from: String(from * 1_000_000), to: String(to * 1_000_000) };
      const stops: Stop[] = [{ lane: 'A', checkpoint: 'after-check', instance: 'i', ...times }];
      const at = [standsAt('after-check'), told('x'), told('y'), told('z')];
      return judge({ at, stops, given: seen('5 a 1 before-commit', 'A') });
    };
    expect(stayed(4, 6)).toMatchObject(undecided('A did not stay at after-check'));
    expect(stayed(6, 9).verdict).toBe('held');
  });

  test('names every other check that broke', () => {
    const played = judge({ on: expiring, given: stalled });
    expect(played.alsoBroken).toContain('mutual-exclusion');
    expect(raceText(played)).toContain('also broken, as the ladder claims: mutual-exclusion');
  });
});
