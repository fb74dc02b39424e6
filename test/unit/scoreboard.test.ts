/** The scoreboard shows what was played and nothing else, and says where a claim does not show. */
import { afterEach, describe, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import type { Facts } from '../../src/audit/facts.ts';
import { setExitCode } from '../../src/cli/output.ts';
import type { Outage } from '../../src/lab/drills/outages.ts';
import { sellsWithout } from '../../src/lab/drills/outages.ts';
import { lockServiceOf, outagesOf } from '../../src/lab/drills/sell-through.ts';
import type { PlayedRace } from '../../src/lab/races/race-verdict.ts';
import { schedules } from '../../src/lab/races/schedules.ts';
import {
  cellSentence,
  mergedScoreboard,
  outageMark,
  type Scoreboard,
  safetyMark,
  scoredCells,
  scoreRows,
} from '../../src/lab/report/scoreboard-grid.ts';
import { scoreboardMarkdown } from '../../src/lab/report/scoreboard-markdown.ts';
import { scoreboardText } from '../../src/lab/report/scoreboard-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
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
  safetyFaults,
  scoredRungs,
} from '../../src/lab/scoreboard/columns.ts';
import { racesOf, salesOf } from '../../src/lab/scoreboard/plan.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { circumstances, type Rung } from '../../src/ladder/rung.ts';
import { ladder } from '../../src/ladder/rungs.ts';
import { accepted, facts, refused, row, timed } from './facts.ts';

const held: CellPlay = { verdict: 'held', asClaimed: true, broken: [], evidence: '' };
const twice: CellPlay = {
  ...{ verdict: 'violated', asClaimed: true, evidence: 'user 7 has 2 orders' },
  broken: [
    { check: 'one-order-per-user', cases: 2 },
    { check: 'mutual-exclusion', cases: 1 },
  ],
};
const overlap: CellPlay = { ...twice, broken: [{ check: 'mutual-exclusion', cases: 1 }] };
const stuck: CellPlay = { ...twice, broken: [{ check: 'progress', cases: 3 }] };
const refusedAll: CellPlay = {
  ...held,
  cost: { soldOn: false, withoutSalesMs: 2_640, resumedAfterMs: 110 },
};
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
  test.each<[string, CellPlay[], string]>([
    ['nothing broke', [held], '✓'],
    ['a user has two orders, whatever else broke', [twice], '✗2'],
    ['two owners were inside at once, and the data is right', [overlap], '∥1'],
    ['a free lock could not be acquired', [stuck], '⊘3'],
    ['the worst of several plays counts', [held, overlap, twice, stuck], '✗2'],
    ['one of several plays could not tell', [held, playOfError(new Error('gone'))], '?'],
    ['a held promise should have broken', [{ ...held, asClaimed: false }], '✓!'],
    ['a broken promise should have held', [twice, { ...overlap, asClaimed: false }], '✗2!'],
  ])('says that %s', (_, plays, mark) => {
    expect(safetyMark(cellOf(...plays))).toBe(mark);
  });

  test.each<[string, CellPlay[], string]>([
    ['nothing was sold, and when sales came back', [refusedAll], '– 2.6 +0.1'],
    ['it sold on', [soldOn], '✓ 0.2 +0.0'],
    ['the longest of several outages', [soldOn, refusedAll], '– 2.6 +0.1'],
    [
      'it should have sold on',
      [{ ...refusedAll, asClaimed: false, verdict: 'violated' }],
      '–! 2.6 +0.1',
    ],
    [
      'nothing was sold again',
      [{ ...refusedAll, cost: { soldOn: false, withoutSalesMs: 9_000, resumedAfterMs: null } }],
      '– 9.0 +never',
    ],
    ['a user has two orders', [{ ...soldOn, ...twice, asClaimed: false }], '✗2! 0.2 +0.0'],
    ['nobody could tell', [{ ...refusedAll, verdict: 'unknown' }], '?'],
  ])('of an outage says that %s', (_, plays, mark) => {
    expect(outageMark({ ...cellOf(...plays), fault: '1-stopped' })).toBe(mark);
  });

  test('that was not played is empty, in every row and every form', () => {
    const rows = scoreRows([cellOf(held)]);
    expect(rows.map(({ rung }) => rung)).toEqual(scoredRungs);
    const cells = rows.flatMap(({ rung, safety, outages }) =>
      [...safety, ...outages].map((cell) => [rung, cell] as const),
    );
    const played = cells.filter(([, cell]) => cell !== null);
    expect(played).toEqual([['redlock', cellOf(held)]]);
    expect([safetyMark(null), outageMark(null)]).toEqual(['', '']);
    const markdown = scoreboardMarkdown(scoreboard(cellOf(held)));
    expect(markdown.match(/\| ✓/g)).toHaveLength(1);
    expect(markdown).toMatch(/\| `multilock` \|(?: {2}\|)+\n/);
    expect(scoredCells([cellOf(held)])).toEqual([
      {
        ...{ rung: 'redlock', fault: cellOf(held).fault, isOutage: false, mark: '✓' },
        says: 'held, as claimed',
      },
    ]);
    expect(scoreboardText(scoreboard(), '/runs/1')).toContain('0 cells played');
  });
});

describe('the agreement with the ladder', () => {
  afterEach(() => {
    process.exitCode = undefined;
  });
  const exitCodeOf = (...cells: Cell[]) => {
    setExitCode(cells.map(agreement));
    return process.exitCode;
  };
  const unknown = playOfError(new Error('the lab is gone'));

  test.each<[string, Cell[], number]>([
    ['every cell is as claimed, held or broken', [cellOf(held), cellOf(twice)], 0],
    ['a claim did not show', [cellOf(held), cellOf({ ...held, asClaimed: false })], 1],
    [
      'one play of many was not as claimed',
      [cellOf(held, { ...twice, asClaimed: false }, held)],
      1,
    ],
    ['one could not tell', [cellOf(held), cellOf(unknown)], 2],
    ['one play of many could not tell', [cellOf(held, unknown)], 2],
    [
      'one could not tell, and another broke its claim',
      [cellOf(unknown), cellOf({ ...held, asClaimed: false })],
      1,
    ],
    ['nothing was played', [], 2],
  ])('when %s', (_, cells, code) => {
    expect(exitCodeOf(...cells)).toBe(code);
  });
});

describe('the play of a race', () => {
  const raced: PlayedRace = {
    ...{ race: 'paused-holder', title: '', rung: 'redis-reentrant', shows: 'one-order-per-user' },
    ...{ verdict: 'violated', claim: 'violated', asClaimed: true, steps: [], evidence: '' },
    ...{ isSlow: false, stops: [], waitsFor: 'lock', alsoBroken: [] },
    facts: facts({ orders: [row('a', '7'), row('b', '7'), row('c', '8')], stock: 0 }),
  };

  test('has every promise that broke, with its cases, as the audit of its facts says', () => {
    const { broken, evidence } = playOfRace(raced);
    const { findings } = audit(raced.facts);
    const violated = findings.filter(({ verdict }) => verdict === 'violated');
    expect(broken).toEqual(violated.map(({ check, count }) => ({ check, cases: count })));
    expect(broken).toContainEqual({ check: 'one-order-per-user', cases: 1 });
    expect(evidence).toContain('one-order-per-user: user 7');
  });

  test('that could not tell, or was not as claimed, says why', () => {
    const why = { verdict: 'unknown', asClaimed: false, evidence: 'a lane was slow' } as const;
    expect(playOfRace({ ...raced, ...why }).evidence).toContain('a lane was slow');
  });
});

describe('the play of an outage', () => {
  const at = (ms: number): bigint => BigInt(ms) * 1_000_000n;
  const answers = (isSoldAt: (ms: number) => boolean): Try[] =>
    Array.from({ length: 40 }, (_, index) => index * 100).map((ms) => ({
      ...timed(isSoldAt(ms) ? accepted(`${ms}`, `${ms}`) : away(`${ms}`), ms, ms + 5),
      voucherId: '7',
    }));
  const away = (user: string) => refused(user, 'lock-service-unavailable');
  const outage: Outage = {
    ...{ rung: 'multilock', servers: ['redis-2'], away: 'hung', masters: 3, sells: false },
    ...{ calmFrom: at(0), stopAt: at(990), downAt: at(1_000), startAt: at(2_000) },
    ...{ backAt: at(2_100), until: at(4_000), leavesLocks: false, leftLocks: 0 },
    tries: answers((ms) => ms < 1_000 || ms >= 2_300),
  };
  const right = facts({});
  const audited = (of: Facts) => ({ facts: of, audit: audit(of) });
  const play = (change: Partial<Outage>, of: Facts = right) =>
    playOfOutage({ ...outage, ...change }, audited(of));

  test('has what it cost, and is held when the rung did as its row claims', () => {
    expect(play({})).toMatchObject({
      ...{ verdict: 'held', asClaimed: true, broken: [] },
      cost: { soldOn: false, withoutSalesMs: 1_400, resumedAfterMs: 205 },
    });
    const goesOn = play({ sells: true, tries: answers(() => true) });
    expect(goesOn).toMatchObject({ verdict: 'held', cost: { soldOn: true } });
  });

  test('is not as claimed when it sold, or did not, or never again, or sold twice', () => {
    const no = { verdict: 'violated', asClaimed: false };
    expect(play({ tries: answers(() => true) })).toMatchObject(no);
    expect(play({ sells: true })).toMatchObject(no);
    expect(play({ tries: answers((ms) => ms < 1_000) })).toMatchObject(no);
    const double = facts({ orders: [row('a', '1'), row('b', '1')] });
    expect(play({}, double)).toMatchObject({
      ...no,
      broken: expect.arrayContaining([{ check: 'one-order-per-user', cases: 1 }]),
    });
  });

  test('a late first sale is measured, and breaks no claim', () => {
    const late = { until: at(9_000), tries: answers((ms) => ms < 1_000) };
    const sale = { ...timed(accepted('1', '1'), 8_000, 8_005), voucherId: '7' };
    expect(play({ ...late, tries: [...late.tries, sale] })).toMatchObject({
      ...{ verdict: 'held', cost: { resumedAfterMs: 5_905 } },
    });
  });

  test('counts the locks that nobody holds, and they break the claim to leave none', () => {
    expect(play({ leftLocks: 19 })).toMatchObject({
      ...{ verdict: 'violated', asClaimed: false, cost: { leftLocks: 19 } },
      evidence: 'multilock, 1 of 3 hung: locks left that nobody holds: 19',
    });
    const claimed = play({ leftLocks: 19, leavesLocks: true });
    expect(claimed).toMatchObject({ verdict: 'held', asClaimed: true, cost: { leftLocks: 19 } });
    const cell = { rung: 'redis-expiry', fault: '1-hung', plays: [claimed] };
    expect(outageMark(cell)).toBe('– 1.4 +0.2 ⊘19');
    expect(cellSentence(cell)).toContain('locks left that nobody holds: 19');
  });

  test('could not tell when nobody bought before it', () => {
    expect(play({ tries: answers((ms) => ms >= 2_300) })).toMatchObject({ verdict: 'unknown' });
  });
});

describe('the plan', () => {
  const all = { rungs: scoredRungs, faults: faultNames };

  test('plays every circumstance that a rung claims to break under', () => {
    const planned = racesOf(all).map(({ rung, fault }) => `${rung} ${fault}`);
    for (const rung of scoredRungs) {
      const { breaks }: Rung = ladder[rung];
      for (const { under } of breaks)
        if (circumstances[under] === 'fault') expect(planned).toContain(`${rung} ${under}`);
    }
    expect(safetyFaults).toEqual(expect.arrayContaining(['holder-dies', 'stale-promotion']));
    expect(safetyFaults).not.toContain('crash-before-publish');
  });

  test('has each outage that a rung has servers for', () => {
    const outages = salesOf(all).map(({ rung, outages: each }) => [rung, each.length]);
    expect(outages).toHaveLength(2 * scoredRungs.length); // Direct, and through proxies.
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

test('the text of a full scoreboard fits a terminal, and explains every mark and fault', () => {
  const plays = [twice, { ...refusedAll, asClaimed: false }] as const;
  const cells = scoredRungs.flatMap((rung) =>
    faultNames.map((fault): Cell => {
      const isRace = (safetyFaults as readonly string[]).includes(fault);
      return { rung, fault, plays: [isRace ? plays[0] : plays[1]] };
    }),
  );
  const text = scoreboardText(scoreboard(...cells), '/runs/1');
  expect(text.split('\n').filter((line) => columns(line) > 80)).toEqual([]);
  for (const name of [...scoredRungs, ...safetyFaults]) expect(text).toContain(name);
  const shown = scoredCells(cells);
  expect(shown.map(({ rung, fault }) => `${rung} ${fault}`).sort()).toEqual(
    cells.map(({ rung, fault }) => `${rung} ${fault}`).sort(),
  );
  const isNamedOutage = ({ fault }: { fault: string }) =>
    outageFaults.some(({ name }) => name === fault);
  expect(shown.filter(({ isOutage }) => isOutage)).toEqual(shown.filter(isNamedOutage));
});

test('several runs make one scoreboard: the newest play of each cell, on the same machine', () => {
  const first = { ...scoreboard(cellOf(held)), runs: [{ command: 'one', time: '1' }] };
  const other = { ...cellOf(held), fault: 'holder-dies' };
  const second = { ...scoreboard(cellOf(twice), other), runs: [{ command: 'two', time: '2' }] };
  const third = {
    ...scoreboard({ ...other, rung: 'fenced' }),
    runs: [{ command: '3', time: '3' }],
  };
  const merged = mergedScoreboard([first, second, third]);
  expect(merged?.cells).toEqual([cellOf(twice), other, { ...other, rung: 'fenced' }]);
  expect(merged?.runs.map(({ command }) => command)).toEqual(['two', '3']);
  const elsewhere = { ...second, machine: { cores: '64' } };
  expect(mergedScoreboard([elsewhere, third])?.cells).toEqual(third.cells);
  expect(mergedScoreboard([])).toBeNull();
});
