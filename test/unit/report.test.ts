/** What people see: tables for an 80-column terminal, and sentences that are cut only between words. */
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/lab/drills/run-rung.ts';
import { ladderText } from '../../src/lab/report/ladder-tables.ts';
import { auditLines, wrap } from '../../src/lab/report/sentences.ts';
import { legend, runTable } from '../../src/lab/report/tables.ts';
import { rungNames } from '../../src/ladder/rungs.ts';

const columns = 80;
const tooLong = (text: string) => text.split('\n').filter((line) => [...line].length > columns);

/** A run of a size that people really ask for: a thousand users, of whom a hundred send eight requests. */
const result = (given: Partial<RunResult>): RunResult => ({
  ...{
    rung: 'lua-stream',
    users: 1_000,
    stock: 100,
    seed: 1,
    workMs: 20,
    retries: 0,
    retried: 0,
    instances: 4,
    balancer: 'nginx',
    insistence: 8,
    holds: [],
  },
  ...{
    voucherId: '12',
    attempts: { accepted: 100, refused: 1_600, unknown: 0 },
    refusedBecause: {},
  },
  ...{ orders: 100, stockLeft: 0, oversoldBy: 0, usersWithTwoOrders: 0, ordersPerSecond: 134 },
  ...{ latencyMs: { p50: 975.4, p99: 3_140.9 }, verdict: 'held', claim: 'held', asClaimed: true },
  ...given,
});

describe('the table of runs', () => {
  test('fits the terminal with every rung and the numbers of a thousand users', () => {
    const table = runTable(rungNames.map((rung) => result({ rung, balancer: 'cluster' })));
    expect(tooLong(table)).toEqual([]);
    for (const rung of rungNames) expect(table).toContain(rung);
  });

  test('fits the terminal when one rung oversells and another does not break as it should', () => {
    const attempts = { accepted: 1_580, refused: 0, unknown: 120 };
    const sold = {
      attempts,
      orders: 1_700,
      stockLeft: 82,
      oversoldBy: 1_600,
      usersWithTwoOrders: 100,
    };
    const oversold = result({ ...sold, verdict: 'violated', claim: 'held', asClaimed: false });
    const unbroken = result({ rung: 'check-then-insert', claim: 'violated', asClaimed: false });
    expect(tooLong(runTable([oversold, unbroken]))).toEqual([]);
  });

  test('marks whether a run was as claimed', () => {
    expect(runTable([result({})])).toContain('✓');
    expect(runTable([result({})])).not.toContain('✗');
    const notAsClaimed = runTable([result({ claim: 'violated', asClaimed: false })]);
    expect(notAsClaimed).toContain('✗');
    expect(notAsClaimed).not.toContain('✓');
  });

  test('tells the two balancers apart', () => {
    expect(runTable([result({ balancer: 'cluster' })])).toContain('4*');
    expect(runTable([result({ balancer: 'nginx' })])).not.toContain('*');
  });

  test('comes with a legend that fits and explains every column but the plain ones', () => {
    expect(tooLong(legend)).toEqual([]);
    const head = runTable([]).trim().split(/\s+/);
    const plain = ['rung', 'orders', 'left'];
    for (const column of head.filter((name) => !plain.includes(name)))
      expect(legend).toContain(column);
  });
});

describe('the table of the ladder', () => {
  test('fits the terminal and names every rung', () => {
    const table = ladderText();
    expect(tooLong(table)).toEqual([]);
    for (const rung of rungNames) expect(table.split('\n')).toContain(`  ${rung}`);
  });
});

describe('wrapping', () => {
  const text =
    'user 2 has 3 orders: 117164965371125761, 117164965375320064, 117164965379514368 (6 in all)';

  test.each([30, 40, 79])('keeps every word and never passes %i columns', (width) => {
    for (let words = 1; words <= text.split(' ').length; words++) {
      const sentence = text.split(' ').slice(0, words).join(' ');
      const wrapped = wrap(sentence, width, '      ');
      for (const line of wrapped.split('\n')) expect(line.length).toBeLessThanOrEqual(width);
      expect(wrapped.split(/\s+/).join(' ')).toBe(sentence);
    }
  });

  test('breaks a line only where the next word does not fit', () => {
    expect(wrap('aa bb cc', 5, '')).toBe('aa bb\ncc');
    expect(wrap('aa bb cc', 4, ' ')).toBe('aa\n bb\n cc');
  });

  test('continues the line of a finding under the name of its check', () => {
    const finding = {
      check: 'one-order-per-user',
      verdict: 'violated',
      count: 6,
      worst: text,
    } as const;
    const [first = '', second = ''] = auditLines({
      verdict: 'violated',
      findings: [finding],
      leftOut: [],
    }).split('\n');
    expect(second.search(/\S/)).toBe(first.indexOf(finding.check));
  });
});
