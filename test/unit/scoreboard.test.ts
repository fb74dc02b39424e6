/** The scoreboard shows what was played and nothing else, and says where a claim does not show. */
import { describe, expect, test } from 'vitest';
import type { SeenOutage } from '../../src/lab/drills/expectations.ts';
import {
  type LockOutage,
  lockServiceOf,
  outagesOf,
  sellsWithout,
} from '../../src/lab/drills/lock-outages.ts';
import type { PlayedRace } from '../../src/lab/play/race-verdict.ts';
import { schedules } from '../../src/lab/play/schedules.ts';
import {
  cellSentence,
  mergedScoreboard,
  outageMark,
  type Scoreboard,
  safetyMark,
  scoredCells,
} from '../../src/lab/report/scoreboard-grid.ts';
import { scoreboardMarkdown, scoreboardText } from '../../src/lab/report/scoreboard-text.ts';
import {
  agreement,
  type Cell,
  type CellPlay,
  playOfError,
  playOfOutage,
  playOfRace,
} from '../../src/lab/scoreboard/cell.ts';
import {
  faultNames,
  outageFaults,
  racesOf,
  safetyFaults,
  salesOf,
  scoredRungs,
} from '../../src/lab/scoreboard/columns.ts';
import { audit } from '../../src/service/audit/audit.ts';
import type { Facts } from '../../src/service/audit/facts.ts';
import type { CheckName } from '../../src/service/domain.ts';
import { circumstances, type Rung } from '../../src/service/ladder/rung.ts';
import { ladder } from '../../src/service/ladder/rungs.ts';
import { languages } from '../../src/texts/texts.ts';
import { away, load, rowOf, sold, stopped } from './drill-cases.ts';
import { facts, row } from './facts.ts';
import { tooWide } from './terminal.ts';

const held: CellPlay = { verdict: 'held', asClaimed: true, broken: [], evidence: '' };
const broke = (...broken: [check: CheckName, cases: number][]): CellPlay => ({
  ...{ verdict: 'violated', asClaimed: true, evidence: 'user 7 has 2 orders' },
  broken: broken.map(([check, cases]) => ({ check, cases })),
});
const overlap = broke(['mutual-exclusion', 1]);
const stuck = broke(['progress', 3]);
const twice = broke(['one-order-per-user', 2], ['mutual-exclusion', 1]);
const open = playOfError(new Error('the lab is gone'));
const notClaimed = (play: CellPlay): CellPlay => ({ ...play, asClaimed: false });

const cost = { soldOn: false, withoutSalesMs: 2_640, resumedAfterMs: 110 };
const refusedAll: CellPlay = { ...held, cost };
const never: CellPlay = { ...held, cost: { ...cost, withoutSalesMs: 9_000, resumedAfterMs: null } };
const soldOn: CellPlay = {
  ...held,
  cost: { soldOn: true, withoutSalesMs: 180, resumedAfterMs: 30 },
};

const cellOf = (...plays: CellPlay[]): Cell => ({ rung: 'redlock', fault: 'holder-pauses', plays });
const scoreboard = (...cells: Cell[]): Scoreboard => ({
  runs: [{ command: 'npx lockstep scoreboard', time: '2026-01-01T000000Z' }],
  machine: { cores: '2' },
  cells,
});

describe('a cell', () => {
  test.each<[what: string, plays: CellPlay[], mark: string]>([
    ['nothing broke', [held], '✓'],
    ['a user has two orders, whatever else broke', [twice], '✗2'],
    ['two owners were inside at once, and the data is right', [overlap], '∥1'],
    ['a free lock could not be acquired', [stuck], '⊘3'],
    ['the worst of several plays counts', [held, overlap, twice, stuck], '✗2'],
    ['one of several plays could not tell', [held, open], '?'],
    ['a held promise should have broken', [notClaimed(held)], '✓!'],
    ['a broken promise should have held', [twice, notClaimed(overlap)], '✗2!'],
  ])('says that %s', (_, plays, mark) => {
    expect(safetyMark(cellOf(...plays))).toBe(mark);
  });

  test.each<[what: string, plays: CellPlay[], mark: string]>([
    ['it sold on', [soldOn], '✓ 0.2 +0.0'],
    ['the longest of several outages sold nothing', [soldOn, refusedAll], '– 2.6 +0.1'],
    ['it should have sold on', [notClaimed(refusedAll)], '–! 2.6 +0.1'],
    ['nothing was sold again', [never], '– 9.0 +never'],
    ['a user has two orders', [notClaimed({ ...soldOn, ...twice })], '✗2! 0.2 +0.0'],
    ['nobody could tell', [{ ...refusedAll, verdict: 'unknown' }], '?'],
  ])('of an outage says that %s', (_, plays, mark) => {
    expect(outageMark({ ...cellOf(...plays), fault: '1-stopped' })).toBe(mark);
  });

  test('that was not played is empty, in every row and every form', () => {
    const cell = cellOf(held);
    expect([safetyMark(null), outageMark(null)]).toEqual(['', '']);
    const markdown = scoreboardMarkdown(scoreboard(cell));
    expect(markdown.match(/\| ✓/g)).toHaveLength(1);
    expect(markdown).toMatch(/\| `multilock` \|(?: {2}\|)+\n/);
    const { rung, fault } = cell;
    const shown = { rung, fault, isOutage: false, mark: '✓', says: 'held, as claimed' };
    expect(scoredCells([cell])).toEqual([shown]);
    expect(scoreboardText(scoreboard(), '/runs/1')).toMatch(/^0 cells played/);
  });

  test.each<[wanted: string, ...plays: CellPlay[]]>([
    ['yes', held, twice],
    ['no', held, notClaimed(twice), held],
    ['unknown', held, open],
    ['no', open, notClaimed(held)],
    ['unknown'],
  ])('agrees with the ladder: %s', (wanted, ...plays) => {
    expect(agreement({ plays })).toBe(wanted);
  });
});

describe('the play of a race', () => {
  const raced: PlayedRace = {
    ...{ race: 'paused-holder', title: '', rung: 'redis-reentrant', shows: 'one-order-per-user' },
    ...{ verdict: 'violated', claim: 'violated', asClaimed: true, steps: [], evidence: 'slow' },
    ...{ isSlow: false, stops: [], alsoBroken: [] },
    facts: facts({ orders: [row('a', '7'), row('b', '7'), row('c', '8')], stock: 0 }),
  };

  test('has every promise that broke, with its cases, as the audit of its facts says', () => {
    const { broken, evidence } = playOfRace(raced);
    const violated = audit(raced.facts).findings.filter(({ verdict }) => verdict === 'violated');
    expect(broken).toEqual(violated.map(({ check, count }) => ({ check, cases: count })));
    expect(broken).toContainEqual({ check: 'one-order-per-user', cases: 1 });
    expect(evidence).toMatch(/^(?!.*slow).*one-order-per-user: user 7/);
  });

  test.each([{ verdict: 'unknown' }, { asClaimed: false }] as const)('%j says why', (given) => {
    expect(playOfRace({ ...raced, ...given }).evidence).toMatch(/^slow; /);
  });
});

describe('the play of an outage', () => {
  const audited = (of: Facts) => ({ facts: of, audit: audit(of) });
  const play = (change: Partial<SeenOutage<LockOutage>> = {}, of = facts()) =>
    playOfOutage({ ...stopped, ...change }, audited(of));

  test('has what it cost, and is held when the rung did as its row claims', () => {
    expect(play()).toMatchObject({
      ...{ verdict: 'held', asClaimed: true, broken: [] },
      cost: { soldOn: false, withoutSalesMs: 1_400, resumedAfterMs: 205 },
    });
    const goesOn = play({ row: rowOf('redlock', ['redis-2']), tries: load(() => sold) });
    expect(goesOn).toMatchObject({ verdict: 'held', cost: { soldOn: true } });
  });

  test.each<[what: string, Partial<SeenOutage<LockOutage>>]>([
    ['it did not sell', { row: rowOf('redlock', ['redis-2']) }],
    ['it left a lock', { leftLocks: 19 }],
  ])('is not as claimed when %s', (_, change) => {
    expect(play(change)).toMatchObject({ verdict: 'violated', asClaimed: false });
  });

  test('is not as claimed when a user bought twice', () => {
    expect(play({}, facts({ orders: [row('a', '1'), row('b', '1')] }))).toMatchObject({
      ...{ verdict: 'violated', asClaimed: false },
      broken: expect.arrayContaining([{ check: 'one-order-per-user', cases: 1 }]),
    });
  });

  test('counts the locks that nobody holds, also where the rung claims to leave some', () => {
    const left = 'locks left that nobody holds: 19';
    expect(play({ leftLocks: 19 })).toMatchObject({
      ...{ cost: { leftLocks: 19 }, evidence: `multilock, 1 of 3 stopped: ${left}` },
    });
    const claimed = play({ leftLocks: 19, row: rowOf('redis-no-expiry', ['redis-main']) });
    expect(claimed).toMatchObject({ verdict: 'held', asClaimed: true, cost: { leftLocks: 19 } });
    const cell = { rung: 'redis-expiry', fault: '1-hung', plays: [claimed] };
    expect(outageMark(cell)).toBe('– 1.4 +0.2 ⊘19');
    expect(cellSentence(cell)).toContain(left);
  });

  test('could not tell when nobody bought before it', () => {
    const tries = load((ms) => (ms < 2_300 ? away : sold));
    expect(play({ tries })).toMatchObject({ verdict: 'unknown' });
  });
});

describe('the plan', () => {
  const all = { rungs: scoredRungs, faults: faultNames };

  test('plays every circumstance that a rung claims to break under', () => {
    const planned = racesOf(all).map(({ rung, fault }) => `${rung} ${fault}`);
    const claimed = scoredRungs.flatMap((rung) => {
      const { breaks }: Rung = ladder[rung];
      const faults = breaks.filter(({ under }) => circumstances[under] === 'fault');
      return faults.map(({ under }) => `${rung} ${under}`);
    });
    expect(planned).toEqual(expect.arrayContaining(claimed));
    expect(safetyFaults).toEqual(expect.arrayContaining(['holder-dies', 'stale-promotion']));
    expect(safetyFaults).not.toContain('crash-before-publish');
  });

  test('has each outage that a rung has servers for, direct and through proxies', () => {
    const outages = salesOf(all).map(({ rung, outages: each }) => [rung, each.length]);
    expect(outages).toHaveLength(2 * scoredRungs.length);
    const ofMultilock = outages.filter(([rung]) => rung === 'multilock');
    expect(ofMultilock.map(([, each]) => each)).toEqual([4, 1]);
    expect(outages).toContainEqual(['redis-atomic', 2]);
  });

  test('is limited to the rungs and faults that are named', () => {
    const some = { rungs: ['redlock', 'fenced'], faults: ['holder-dies', '2-stopped'] };
    expect(racesOf(some).map(({ rung }) => rung)).toEqual(['redlock', 'fenced']);
    expect(salesOf(some).map(({ rung }) => rung)).toEqual(['redlock']);
  });

  test('restarts the service for a race at most once: one instance before four', () => {
    const instances = racesOf(all).map(({ race }) => schedules[race].instances);
    expect(instances).toEqual(instances.toSorted((one, other) => one - other));
  });

  test.each([
    ['multilock', [false, false, false]],
    ['redlock', [true, false, false]],
    ['zookeeper', [false]],
  ] as const)('knows from the row of %s with how many servers away it sells', (rung, sells) => {
    const service = lockServiceOf(rung);
    const plans = outagesOf(service, 'stopped', 1);
    expect(plans.map(({ servers }) => sellsWithout(service, servers.length))).toEqual(sells);
    expect(plans.at(-1)?.servers.toSorted()).toEqual(service.servers.toSorted());
  });
});

test.each(languages)(
  'a full scoreboard in %s fits, and has every cell, rung and fault',
  (language) => {
    const isOutage = (fault: string) => outageFaults.some(({ name }) => name === fault);
    const plays = (fault: string) => [notClaimed(isOutage(fault) ? refusedAll : twice)];
    const cells = scoredRungs.flatMap((rung) =>
      faultNames.map((fault): Cell => ({ rung, fault, plays: plays(fault) })),
    );
    const text = scoreboardText(scoreboard(...cells), '/runs/1', language);
    expect(tooWide(text)).toEqual([]);
    for (const name of [...scoredRungs, ...safetyFaults]) expect(text).toContain(name);
    const named = cells.map(({ rung, fault }) => ({ rung, fault, isOutage: isOutage(fault) }));
    expect(scoredCells(cells)).toEqual(named.map((each) => expect.objectContaining(each)));
  },
);

test('several runs make one scoreboard: the newest play of each cell, on the same machine', () => {
  const run = (command: string, ...cells: Cell[]): Scoreboard => ({
    ...scoreboard(...cells),
    runs: [{ command, time: '' }],
  });
  const other = { ...cellOf(held), fault: 'holder-dies' };
  const fenced = { ...other, rung: 'fenced' };
  const newer = [run('two', cellOf(twice), other), run('three', fenced)];
  const merged = mergedScoreboard([run('one', cellOf(held)), ...newer]);
  expect(merged?.cells).toEqual([cellOf(twice), other, fenced]);
  expect(merged?.runs.map(({ command }) => command)).toEqual(['two', 'three']);
  const elsewhere = { ...run('two', cellOf(twice)), machine: { cores: '64' } };
  expect(mergedScoreboard([elsewhere, run('three', fenced)])?.cells).toEqual([fenced]);
  expect(mergedScoreboard([])).toBeNull();
});
