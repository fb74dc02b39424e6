/** The plan of a soak is steered to what was not seen yet, and its verdict is red for damage. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { resultText } from '../../src/lab/report/result-text.ts';
import {
  type Coverage,
  coverageGaps,
  coverageOf,
  coverageTable,
  newCells,
  soakGaps,
} from '../../src/lab/soak/soak.ts';
import {
  cellsOf,
  declaredCells,
  type PlannedFault,
  purchaseCheckpoints,
  Steering,
  soakFaultNames,
  targets,
  workerCheckpoints,
} from '../../src/lab/soak/soak-faults.ts';
import { SoakSale, shortStock } from '../../src/lab/soak/soak-sale.ts';
import { rowTexts } from '../../src/lab/stage/table.ts';
import type { Purchase } from '../../src/lab/workload/steady-purchases.ts';

/** The next faults; `sees` says which cells of each are reached. */
function faults(
  seed: number,
  count: number,
  sees: (planned: PlannedFault, index: number) => readonly string[] = ({ target }) =>
    cellsOf(target),
): PlannedFault[] {
  const steering = new Steering(targets, seed);
  return Array.from({ length: count }, (_, index) => {
    const planned = steering.next();
    steering.saw(sees(planned, index));
    return planned;
  });
}

describe('the declared cells', () => {
  test('have every fault, at every checkpoint that it can hit, in every state', () => {
    expect(declaredCells).toHaveLength(217);
    expect(new Set(declaredCells).size).toBe(declaredCells.length);
    for (const fault of soakFaultNames)
      for (const state of ['stock-left', 'sold-out'])
        expect(targets.some((each) => each.fault === fault && each.state === state)).toBe(true);
    for (const checkpoint of [...purchaseCheckpoints, ...workerCheckpoints])
      expect(declaredCells.some((cell) => cell.startsWith(`${checkpoint} × `))).toBe(true);
  });

  test('are those of docs/drills.md', () => {
    const page = readFileSync(new URL('../../docs/drills.md', import.meta.url), 'utf8');
    const [, text] = page.split('### Its cells');
    expect(text).toContain(`There are ${declaredCells.length}.`);
    for (const name of [...soakFaultNames, ...purchaseCheckpoints, ...workerCheckpoints])
      expect(text).toContain(`\`${name}\``);
  });

  test('stop a worker at one checkpoint at a time', () => {
    const ofWorkers: readonly string[] = workerCheckpoints;
    for (const { checkpoints } of targets)
      expect(checkpoints.filter((each) => ofWorkers.includes(each)).length).toBeLessThan(2);
  });
});

describe('the steering', () => {
  test('plays the same faults in the same order for the same seed, and others for another', () => {
    const played = (seed: number) => JSON.stringify(faults(seed, 20));
    expect(new Set([1, 2, 3, 3, 4].map(played)).size).toBe(4);
  });

  test('sees every cell with one fault for each target, and plays none of them twice before', () => {
    const played = faults(7, targets.length);
    expect(new Set(played.map(({ target }) => target)).size).toBe(targets.length);
    const seen = new Set(played.flatMap(({ target }) => cellsOf(target)));
    expect([...seen].sort()).toEqual([...declaredCells].sort());
  });

  test('comes back to a cell that was missed, and to no other before it was seen', () => {
    const [first] = faults(5, 1);
    const missed = first?.target;
    const all = faults(5, targets.length + 3, ({ target }, index) =>
      target === missed && index < targets.length + 1 ? [] : cellsOf(target),
    );
    const later = all.slice(targets.length).map(({ target }) => target);
    expect(later.slice(0, 2)).toEqual([missed, missed]);
    expect(later[2]).not.toBe(missed);
  });

  test('a cell that can never be reached does not keep the others from being played', () => {
    const [first] = faults(5, 1);
    const played = faults(5, targets.length, ({ target }) =>
      target === first?.target ? [] : cellsOf(target),
    );
    expect(new Set(played.map(({ target }) => target)).size).toBe(targets.length);
  });
});

describe('the coverage', () => {
  const full = coverageOf(
    ['a', 'b', 'c'],
    [['a'], ['b', 'c'], ...Array.from({ length: 6 }, () => ['a'])],
  );

  test('has a curve, and is flat once the last faults brought nothing new', () => {
    expect(full).toMatchObject({ declared: 3, seen: 3, missing: [], isFlat: true });
    expect(full.curve).toEqual([1, 3, 3, 3, 3, 3, 3, 3]);
    expect(coverageGaps(full)).toEqual([]);
  });

  test('has a gap for a cell that was not seen, and for a tail that is not flat', () => {
    const young = coverageOf(['a', 'b', 'c'], [['a'], ['b']]);
    expect(young).toMatchObject({ seen: 2, missing: ['c'], isFlat: false });
    expect(coverageGaps(young).map(({ en }) => en)).toEqual([
      '2 of 3 cells were seen',
      'the last of 2 faults still brought new cells',
    ]);
  });

  test('its curve is told in tenths of the faults', () => {
    expect(newCells(full.curve)).toEqual([1, 2, 0, 0, 0, 0, 0, 0]);
    const long = Array.from({ length: 100 }, (_, index) => Math.min(index + 1, 45));
    expect(newCells(long)).toEqual([10, 10, 10, 10, 5, 0, 0, 0, 0, 0]);
    expect(newCells([])).toEqual([]);
  });

  test('its table says what its short words mean', () => {
    const { legend = {}, head, rows } = coverageTable(full);
    const words = rowTexts('en', [head, ...rows.map(([name = '']) => [name])]).flat();
    expect(Object.keys(legend)).toEqual(['cells', 'new per tenth', 'the tail']);
    expect(words).toEqual(expect.arrayContaining(Object.keys(legend)));
  });

  test('its table names what was not seen', () => {
    expect(rowTexts('en', coverageTable(full).rows).slice(0, 2)).toEqual([
      ['seen', '3 of 3'],
      ['the last new one', 'at fault 2 of 8'],
    ]);
    const rows = coverageTable(coverageOf(['a', 'b'], [['a']])).rows;
    expect(rowTexts('en', rows).at(-1)).toEqual(['not seen', 'b']);
    const text = resultText({
      ...{ verdict: 'held', reasons: [], figures: {}, faults: {} },
      tables: [coverageTable(coverageOf(declaredCells, []))],
    });
    expect(text.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
  });
});

describe('the verdict of a soak', () => {
  const missing = coverageOf(['a', 'b'], [['a']]);
  const nothing = coverageOf(['a', 'b'], [[], []]);
  const gaps = coverageGaps(missing).map(({ en }) => en);
  const unhit = 'no fault hit a request at its checkpoint';

  test.each<[string, Coverage, boolean, readonly string[]]>([
    ['nothing without a gate, whatever was seen', missing, false, []],
    ['a fault that hits, when nothing was seen', nothing, false, [unhit]],
    ['every cell behind the gate', missing, true, gaps],
  ])('lacks %s', (_, coverage, isGated, reasons) => {
    expect(soakGaps(coverage, isGated).map(({ en }) => en)).toEqual(reasons);
  });
});

describe('the rush of a soak', () => {
  const rush = async () => {
    let created = 0;
    const stocks: number[] = [];
    const sale = new SoakSale(1, async (stock) => {
      stocks.push(stock);
      return String(++created);
    });
    const plenty = await sale.offerPlenty();
    return { sale, stocks, plenty, line: sale[Symbol.iterator]() };
  };
  const take = (line: Iterator<Purchase>, count: number): Purchase[] =>
    Array.from({ length: count }, () => line.next().value as Purchase);

  test('has new users, some of whom buy twice or send one request three times', async () => {
    const { sale, line } = await rush();
    const sent = take(line, 130);
    const planned = new Set(sale.purchases.map(({ requestId }) => requestId));
    expect(planned.size).toBe(sale.purchases.length);
    expect(new Set(sent.map(({ requestId }) => requestId)).size).toBe(planned.size);
    const times = (requestId: string) => sent.filter((each) => each.requestId === requestId).length;
    expect(times('soak-1-1-5')).toBe(3);
    expect(times('soak-1-1-10') + times('soak-1-1-10-2')).toBe(2);
  });

  test('sells the short voucher out beside the other one, until it ends', async () => {
    const { sale, stocks, plenty, line } = await rush();
    const short = await sale.offerShort();
    const during = take(line, 300).map(({ voucherId }) => voucherId);
    expect(during.filter((voucherId) => voucherId === short).length).toBeGreaterThan(shortStock);
    expect(during.filter((voucherId) => voucherId === plenty).length).toBeGreaterThan(100);
    sale.endShort();
    take(line, 10); // Those that are sent again.
    expect(take(line, 50).every(({ voucherId }) => voucherId === plenty)).toBe(true);
    expect(stocks[1]).toBe(shortStock);
  });

  test('has another voucher before the one with stock is sold out', async () => {
    const { sale, stocks, plenty, line } = await rush();
    take(line, 4_000);
    expect(await sale.offerPlenty()).toBe(plenty);
    take(line, 2_000);
    expect(await sale.offerPlenty()).not.toBe(plenty);
    expect(stocks[0]).toBeGreaterThan(6_000);
  });

  test('ends, and sends before that what has no final answer', async () => {
    const { sale, plenty, line } = await rush();
    const probe = sale.plan(plenty, 'probe');
    sale.end();
    sale.repeat(probe);
    expect(line.next().value).toBe(probe);
    expect(line.next().done).toBe(true);
  });
});
