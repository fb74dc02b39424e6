/** The verdict of a race under load is red for each kind of damage, and for a claim that fails. */

import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/audit/facts.ts';
import { undecidedBecause } from '../../src/lab/drills/race-drill.ts';
import {
  type PlayUnderLoad,
  playFigures,
  playsVerdict,
} from '../../src/lab/drills/race-drill-verdict.ts';
import { loadPhases, type RaceLoad } from '../../src/lab/drills/race-load.ts';
import {
  outlastsLease,
  type PlayedStep,
  raceVerdict,
  unreached,
} from '../../src/lab/races/race-verdict.ts';
import { type RaceName, schedules } from '../../src/lab/races/schedules.ts';
import { untilKnown } from '../../src/lab/races/until-known.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import type { RungName } from '../../src/ladder/rungs.ts';
import { accepted, alreadyOrdered, facts, type Given, history, refused, row } from './facts.ts';

const at = (ms: number): bigint => BigInt(ms) * 1_000_000n;
type Answer = Pick<Try, 'outcome' | 'reason'>;
const sold: Answer = { outcome: 'accepted' };
const away: Answer = { outcome: 'refused', reason: 'lock-service-unavailable' };

/** A request of another user each 100 ms, answered 5 ms later. */
const tries = (answer: (ms: number) => Answer): Try[] =>
  Array.from({ length: 40 }, (_, index) => ({
    ...{ voucherId: '9', userId: String(1_001 + index), requestId: `load-${index}`, latencyMs: 5 },
    ...{ sentAt: String(at(index * 100)), answeredAt: String(at(index * 100 + 5)) },
    ...answer(index * 100),
  }));
const loadWith = (answer: (ms: number) => Answer): RaceLoad => ({
  ...{ calmFrom: at(0), playFrom: at(1_000), playTo: at(3_000), until: at(4_000) },
  tries: tries(answer),
});
const steady = loadWith((ms) => (ms >= 1_500 && ms < 2_500 ? away : sold));

/** User 7 bought twice, inside at once. */
const twice: Given = {
  orders: [row('a', '7'), row('b', '7')],
  attempts: [accepted('7', 'a'), accepted('7', 'b')],
  redis: { buyers: { 7: 'a' } },
  history: history('0 a 7 granted', '1 b 7 granted', '2 b 7 releasing', '3 a 7 releasing'),
};
const once: Given = {
  orders: [row('a', '7')],
  attempts: [accepted('7', 'a'), alreadyOrdered('7', 'a')],
  ...{ stock: 2, redis: { stock: 2, buyers: { 7: 'a' } } },
  history: history(
    ...['0 a 7 granted', '1 a 7 releasing', '1 a 7 released'],
    ...['2 b 7 granted', '3 b 7 releasing', '3 b 7 released'],
  ),
};
const step: PlayedStep = {
  ...{ lane: 'A', text: '', wrong: false, asPlanned: true },
  at: 'answer',
};

interface Changes extends Partial<Omit<PlayUnderLoad, 'played'>> {
  readonly race?: RaceName;
  readonly at?: string;
}

function play(rung: RungName, given: Given, changes: Changes = {}): PlayUnderLoad {
  const { race = 'stale-promotion', at: place = 'answer', ...more } = changes;
  const steps = [{ ...step, at: place }];
  const played = raceVerdict(
    race,
    rung,
    schedules[race],
    { steps, stops: [] },
    facts({ ...given, rung }),
  );
  return { played, load: steady, faults: 2, refusesWrite: false, ...more };
}

const judged = (...plays: PlayUnderLoad[]) => playsVerdict(plays);
const breaks = (changes?: Changes) => play('redis-reentrant', twice, changes);
const holds = (changes?: Changes) => play('multilock', once, changes);
const addedTo = (given: Given, ...added: Attempt[]): Given => ({
  ...given,
  attempts: [...(given.attempts ?? []), ...added],
});

/** An order of a user of the load, whom nobody answered. */
const phantom: Given = {
  ...once,
  orders: [row('a', '7'), row('z', '1001')],
  ...{ stock: 1, redis: { stock: 1, buyers: { 7: 'a', 1001: 'z' } } },
  history: [...(once.history ?? []), ...history('4 z 1001 granted', '5 z 1001 releasing')],
};

describe('the verdict of races under load', () => {
  test('is held when each went as the ladder claims; and it says which violation showed', () => {
    const { asClaimed, ...verdict } = judged(breaks(), holds());
    expect(verdict).toEqual({ verdict: 'held', reasons: [] });
    expect(asClaimed).toEqual(['stale-promotion on redis-reentrant: user 7 has 2 orders: a, b']);
  });

  test('is unknown, and not violated, when the machine was too slow for a race', () => {
    const lost = addedTo(once, refused('7', 'lease-lost'));
    const slow = play('redis-reentrant', lost, { at: outlastsLease, refusesWrite: true });
    const { verdict, reasons } = judged(slow);
    expect(verdict).toBe('unknown');
    expect(reasons.join()).toContain('the machine is too slow');
  });

  test.each<[string, PlayUnderLoad, RegExp]>([
    [
      'a claimed violation does not show',
      play('redis-reentrant', once),
      /^stale-promotion on redis-reentrant: held, and the ladder claims violated/,
    ],
    [
      'a rung breaks that should hold',
      play('multilock', twice),
      /^stale-promotion on multilock: violated, and the ladder claims held/,
    ],
    [
      'a user of the load has an order that was never answered',
      play('multilock', phantom),
      /no-phantom-orders, which the ladder does not claim: order z of user 1001/,
    ],
    [
      'sales never resume',
      holds({ load: loadWith((ms) => (ms < 1_500 ? sold : away)) }),
      /^stale-promotion on multilock: no sale after it$/,
    ],
    [
      'MySQL should refuse a write, and refused none',
      holds({ refusesWrite: true }),
      /^stale-promotion on multilock: MySQL refused no write$/,
    ],
  ])('is violated when %s', (_, mutant, reason) => {
    const { verdict, reasons } = judged(breaks(), mutant);
    expect(verdict).toBe('violated');
    expect(reasons).toEqual([expect.stringMatching(reason)]);
  });

  test.each<[string, PlayUnderLoad, RegExp]>([
    [
      'nobody of the load bought before the race',
      holds({ load: loadWith((ms) => (ms < 2_500 ? away : sold)) }),
      /nobody of the load bought before it/,
    ],
    [
      'nobody of the load tried meanwhile',
      holds({
        load: {
          ...steady,
          tries: steady.tries.filter(({ sentAt }) => {
            const ms = Number(BigInt(sentAt ?? 0) / 1_000_000n);
            return ms < 1_000 || ms >= 3_000;
          }),
        },
      }),
      /nobody of the load tried meanwhile/,
    ],
    ['no fault was injected', holds({ faults: 0 }), /no fault was injected/],
    [
      'a fault did not find its lane, and the rung held',
      holds({ at: unreached }),
      /unknown: a fault/,
    ],
    ['a fault did not find its lane, and it broke', breaks({ at: unreached }), /was not played/],
    [
      'a lane was answered what does not belong to a sale',
      play('multilock', addedTo(once, refused('7', 'lock-service-unavailable'))),
      /user 7 was answered lock-service-unavailable/,
    ],
  ])('is unknown when %s', (_, mutant, reason) => {
    const { verdict, reasons } = judged(breaks(), mutant);
    expect(verdict).toBe('unknown');
    expect(reasons).toEqual([expect.stringMatching(reason)]);
  });

  test('is violated when the race is unknown, and a check broke that no row claims', () => {
    const given = addedTo(phantom, refused('7', 'lock-service-unavailable'));
    expect(judged(play('multilock', given)).verdict).toBe('violated');
  });

  test('is unknown when a check about the load is', () => {
    const given = addedTo({ ...phantom, history: once.history ?? [] }, accepted('1001', 'z'));
    const { verdict, reasons } = judged(play('multilock', given));
    expect(verdict).toBe('unknown');
    expect(reasons.join()).toContain('mutual-exclusion unknown: the history has no grant');
  });

  test('does not mind that the load is refused while the fault lasts', () => {
    const given = addedTo(once, refused('1001', 'lock-service-unavailable'));
    expect(judged(play('multilock', given)).verdict).toBe('held');
  });

  test('counts a lock that stays busy for a user of the load as a cost, not for a lane', () => {
    const busyFor = (user: string) =>
      play('multilock', {
        ...once,
        history: [
          ...(once.history ?? []),
          ...history(`10 c ${user} requested`, `2500 c ${user} denied`),
        ],
      });
    expect(judged(busyFor('1001'))).toMatchObject({ verdict: 'held', reasons: [] });
    expect(playFigures([busyFor('1001')])).toMatchObject({ busyUntilLeaseEnds: 1 });
    expect(judged(busyFor('7')).verdict).toBe('violated');
  });
});

describe('the report of races under load', () => {
  test('has the load before, during and after each race', () => {
    const [before, during, after] = loadPhases('multilock', 'stale-promotion', steady);
    expect(before).toMatchObject({ phase: 'before', accepted: 10, refusedBecause: {}, p99Ms: 5 });
    expect(during).toMatchObject({
      ...{ phase: 'stale-promotion', accepted: 10, unknown: 0 },
      refusedBecause: { 'lock-service-unavailable': 10 },
      ...{ withoutSalesMs: 1_100, resumedAfterMs: 5 },
    });
    expect(after).toMatchObject({ phase: 'after', accepted: 10 });
  });

  test('tells the orders of each racing user, and each violation that was claimed', () => {
    const figures = playFigures([breaks(), holds()]);
    expect(figures).toMatchObject({
      ...{ violatedAsClaimed: 1, heldAsClaimed: 1 },
      'orders of one user, stale-promotion on redis-reentrant': 2,
      'orders of one user, stale-promotion on multilock': 1,
    });
    const withLoad = play('multilock', addedTo(phantom, accepted('1001', 'z')));
    expect(playFigures([withLoad])['orders of one user, stale-promotion on multilock']).toBe(1);
    const text = resultText({ ...judged(breaks()), figures, faults: {} });
    expect(text).toContain('as claimed: stale-promotion on redis-reentrant: user 7 has 2 orders');
  });
});

describe('a race in a drill', () => {
  const unknown = holds({ at: unreached });

  test.each([
    ['is played once when its verdict is known', [holds()], 1],
    ['is played once when it went wrong', [play('multilock', twice)], 1],
    ['is played again while its verdict is unknown', [unknown, holds()], 2],
    ['is played three times at most', [unknown, unknown, unknown, holds()], 3],
  ])('%s', async (_, given, times) => {
    const left = [...given];
    const next = async () => left.shift() ?? unknown;
    const last = await untilKnown(next, undecidedBecause, () => {});
    expect([last, left.length]).toEqual([given[times - 1], given.length - times]);
  });
});
