/** A race under load: whether it went as the ladder claims, and what its report has. */
import { describe, expect, test } from 'vitest';
import { phasesAround } from '../../src/lab/drills/phases.ts';
import {
  type PlayUnderLoad,
  playFigures,
  playsVerdict,
  undecidedBecause,
} from '../../src/lab/drills/race-drill.ts';
import { raceVerdict } from '../../src/lab/play/race-verdict.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import type { PlayedStep } from '../../src/lab/stage/events.ts';
import type { ReachedPlace } from '../../src/lab/stage/place.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { RungName } from '../../src/service/ladder/rungs.ts';
import { at, away, load, sold, verdictsOf } from './drill-cases.ts';
import {
  accepted,
  alreadyOrdered,
  facts,
  type Given,
  history,
  missed,
  refused,
  row,
  told,
} from './facts.ts';

const loadOf = (tries: PlayUnderLoad['load']['tries']) => ({
  ...{ calmFrom: at(0), brokenAt: at(1_000), downFrom: at(1_000), downUntil: at(3_000) },
  ...{ mendedAt: at(3_000), until: at(4_000), tries },
});
const steady = load((ms) => (ms >= 1_500 && ms < 2_500 ? away : sold));

/** User 7 bought twice, inside at once. */
const twice: Given = {
  orders: [row('a', '7'), row('b', '7')],
  attempts: [accepted('7', 'a'), accepted('7', 'b')],
  redis: { buyers: { 7: 'a' } },
  history: history('0 a 7 granted', '1 b 7 granted', '2 b 7 releasing', '3 a 7 releasing'),
};
const onceHistory = history(
  ...['0 a 7 granted', '1 a 7 releasing', '1 a 7 released'],
  ...['2 b 7 granted', '3 b 7 releasing', '3 b 7 released'],
);
const once: Given = {
  orders: [row('a', '7')],
  attempts: [accepted('7', 'a'), alreadyOrdered('7', 'a')],
  ...{ stock: 2, redis: { stock: 2, buyers: { 7: 'a' } }, history: onceHistory },
};
/** An order of a user of the load, whom nobody answered. */
const phantom: Given = {
  ...once,
  orders: [row('a', '7'), row('z', '1001')],
  ...{ stock: 1, redis: { stock: 1, buyers: { 7: 'a', 1001: 'z' } } },
  history: [...onceHistory, ...history('4 z 1001 granted', '5 z 1001 releasing')],
};
const addedTo = (given: Given, ...added: Attempt[]): Given => ({
  ...given,
  attempts: [...(given.attempts ?? []), ...added],
});

interface Changes extends Partial<Omit<PlayUnderLoad, 'played'>> {
  readonly at?: ReachedPlace;
}
function play(rung: RungName, given: Given, changes: Changes = {}): PlayUnderLoad {
  const { at: place = told('x'), ...more } = changes;
  const said = { says: { en: '', zh: '' }, isWrong: false, asPlanned: true };
  const step: PlayedStep = { lane: 'A', ...said, place };
  const [race, ran] = ['stale-promotion', { steps: [step], stops: [] }] as const;
  const played = raceVerdict(race, rung, ran, facts({ ...given, rung }));
  return { played, load: loadOf(steady), faults: 2, refusesWrite: false, ...more };
}
const breaks = (changes?: Changes) => play('redis-reentrant', twice, changes);
const holds = (changes?: Changes) => play('multilock', once, changes);
const outOf = (given: Given, ...added: Attempt[]) => play('multilock', addedTo(given, ...added));
const busyFor = (user: string) => {
  const waited = history(`10 c ${user} requested`, `2500 c ${user} denied`);
  return play('multilock', { ...once, history: [...onceHistory, ...waited] });
};

describe('a race under load, beside one that went as claimed,', () => {
  const race = verdictsOf('it', (other: PlayUnderLoad) => playsVerdict([breaks(), other]));
  const unavailable = refused('7', 'lock-service-unavailable');
  const unsold = load((ms) => (ms < 1_500 ? sold : away));
  const untried = [...steady.slice(0, 10), ...steady.slice(30)];
  const unshown = play('redis-reentrant', once);

  race.holds({
    'it went as the ladder claims': holds(),
    'the load is refused while the fault lasts': outOf(once, { ...unavailable, userId: '1001' }),
    'a lock stays busy for a user of the load, which is a cost': busyFor('1001'),
  });
  race.is('violated', {
    'stale-promotion on redis-reentrant: held, and the ladder claims violated…': unshown,
    'stale-promotion on multilock: violated, and the ladder claims held…': outOf(twice),
    '…no-phantom-orders, which the ladder does not claim: order z of user 1001…': outOf(phantom),
    'stale-promotion on multilock: no sale after it': holds({ load: loadOf(unsold) }),
    'stale-promotion on multilock: MySQL refused no write': holds({ refusesWrite: true }),
  });
  race.isAlso('violated', {
    // The race itself is unknown.
    'no-phantom-orders, which the ladder does not claim': outOf(phantom, unavailable),
    'progress, which the ladder does not claim': busyFor('7'),
  });
  race.is('unknown', {
    'stale-promotion on multilock: nobody of the load bought before it': holds({
      load: loadOf(load((ms) => (ms < 2_500 ? away : sold))),
    }),
    'stale-promotion on multilock: nobody of the load tried meanwhile': holds({
      load: loadOf(untried),
    }),
    'stale-promotion on multilock: no fault was injected': holds({ faults: 0 }),
    'stale-promotion on multilock: unknown: a fault…': holds({ at: missed('not-there') }),
    'stale-promotion on redis-reentrant: a step was not played': breaks({
      at: missed('not-there'),
    }),
    '…user 7 was answered lock-service-unavailable…': outOf(once, unavailable),
  });
  race.isAlso('unknown', {
    'the machine is too slow': play('redis-reentrant', addedTo(once, refused('7', 'lease-lost')), {
      ...{ at: missed('outlasts-the-lease'), refusesWrite: true },
    }),
    'mutual-exclusion unknown: the history has no grant': outOf(
      { ...phantom, history: onceHistory },
      accepted('1001', 'z'),
    ),
  });

  test('says which claimed violation showed', () => {
    const { asClaimed } = playsVerdict([breaks(), holds()]);
    expect(asClaimed).toEqual([
      {
        en: 'stale-promotion on redis-reentrant: user 7 has 2 orders: a, b',
        zh: 'redis-reentrant 上的 stale-promotion：用户 7 有 2 个订单：a, b',
      },
    ]);
  });
});

describe('the report of races under load', () => {
  test('has the load before, during and after each race', () => {
    const row = { name: 'stale-promotion' };
    const phases = phasesAround('multilock', { ...loadOf(steady), row });
    expect(phases).toMatchObject([
      { phase: { en: 'before', zh: '之前' }, accepted: 10, refusedBecause: {}, p99Ms: 5 },
      {
        ...{ phase: 'stale-promotion', accepted: 10, unknown: 0 },
        refusedBecause: { 'lock-service-unavailable': 10 },
        ...{ withoutSalesMs: 1_100, resumedAfterMs: 5 },
      },
      { phase: { en: 'after', zh: '之后' }, accepted: 10 },
    ]);
  });

  test('tells the orders of each racing user, and each violation that was claimed', () => {
    const figures = playFigures([breaks(), holds()]);
    const ofMultilock = 'orders of one user, stale-promotion on multilock';
    expect(figures).toMatchObject({
      ...{ violatedAsClaimed: 1, heldAsClaimed: 1, [ofMultilock]: 1 },
      'orders of one user, stale-promotion on redis-reentrant': 2,
    });
    expect(playFigures([outOf(phantom, accepted('1001', 'z'))])[ofMultilock]).toBe(1);
    expect(playFigures([busyFor('1001')])).toMatchObject({ busyUntilLeaseEnds: 1 });
    const text = resultText({ ...playsVerdict([breaks()]), figures, faults: {} });
    expect(text).toContain('as claimed: stale-promotion on redis-reentrant: user 7 has 2 orders');
  });
});

test('a race whose verdict is known counts, and an undecided one says why', () => {
  expect([holds(), outOf(twice)].map(undecidedBecause)).toEqual([undefined, undefined]);
  expect(undecidedBecause(holds({ at: missed('not-there') }))?.en).toContain('unknown');
});
