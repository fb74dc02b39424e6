/** `bench --beside`: what it is told about another service, and when its figures count. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  faultsOfSeller,
  ratiosOf,
  type SellerRound,
} from '../../src/lab/benchmarks/beside-benchmark.ts';
import type { LoadMeasurement } from '../../src/lab/benchmarks/measure.ts';
import { readOtherService } from '../../src/lab/benchmarks/other-service.ts';
import { blocksText } from '../../src/lab/report/table.ts';
import { someFolder, withCode } from '../support/basics.ts';
import { measured } from './bench-figures.ts';
import { benchReports } from './bench-reports.ts';

const purchase = (answers: LoadMeasurement['answers'], broken = 0): LoadMeasurement =>
  measured({ answers, broken });
const recordingOf = (recorded: number): NonNullable<SellerRound['recording']> => ({
  ...{ recorded, duringPerSecond: 1, afterPerSecond: 1, drainSeconds: 1, perSecond: 20 },
});
const round = (given: Partial<SellerRound> = {}): SellerRound => ({
  ...{ purchase: purchase({ accepted: 100 }), accepted: 100, acceptedPerSecond: 25 },
  recording: recordingOf(100),
  ...given,
});

describe('the description of another service', () => {
  const complete = {
    ...{ name: 'other', url: 'http://127.0.0.1:1/buy', tokens: 'tokens.txt' },
    ...{ sold: '"success":true', processes: { api: [1, 2], redis: [3] } },
    count: { database: 'mysql://root@127.0.0.1:1/shop', query: 'SELECT 1 AS count' },
  };

  function describeIt(description: unknown, tokens = 'one\ntwo\n'): string {
    const folder = someFolder();
    writeFileSync(join(folder, 'tokens.txt'), tokens);
    const file = join(folder, 'beside.json');
    const text = typeof description === 'string' ? description : JSON.stringify(description);
    writeFileSync(file, text);
    return file;
  }

  test('names its tokens beside it, and its processes by role', () => {
    const { name, tokens, processes } = readOtherService(describeIt(complete));
    expect([name, tokens.count, tokens.next]).toEqual(['other', 2, 0]);
    expect(processes).toEqual([
      { role: 'api', pid: 1 },
      { role: 'api', pid: 2 },
      { role: 'redis', pid: 3 },
    ]);
  });

  test('needs a name, a URL and tokens, and nothing else', () => {
    const { name, url, tokens } = complete;
    expect(readOtherService(describeIt({ name, url, tokens })).processes).toEqual([]);
  });

  test.each<[string, unknown, string?]>([
    ['no JSON', 'name: other'],
    ['no URL', { ...complete, url: undefined }],
    ['a word that it does not have', { ...complete, sould: 'true' }],
    ['a role that no process has', { ...complete, processes: { java: [1] } }],
    ['no tokens', { ...complete, tokens: 'none.txt' }],
    ['an empty list of tokens', complete, ''],
    ['a name wider than its column', { ...complete, name: 'a-very-long-name-of-a-service' }],
  ])('is refused with %s', (_, description, tokens) => {
    const file = describeIt(description, tokens);
    expect(() => readOtherService(file)).toThrow(withCode('OTHER_SERVICE_INVALID'));
  });
});

describe('the figures of a service beside another one count', () => {
  test('when each answer says that it sold, and each order is recorded', () => {
    expect(faultsOfSeller('other', round(), 8)).toEqual([]);
    expect(faultsOfSeller('other', round({ recording: null }), 8)).toEqual([]);
    expect(faultsOfSeller('other', round({ recording: recordingOf(108) }), 8)).toEqual([]);
  });

  test.each<[string, Partial<SellerRound>]>([
    ['an answer was 200 and sold nothing', { purchase: purchase({ accepted: 99, 'not-sold': 1 }) }],
    ['a purchase got no answer', { purchase: purchase({ accepted: 100 }, 1) }],
    ['an accepted order is not recorded', { recording: recordingOf(99) }],
    ['more is recorded than was requested', { recording: recordingOf(109) }],
  ])('not when %s', (_, given) => {
    expect(faultsOfSeller('other', round(given), 8)).toHaveLength(1);
  });
});

describe('the ratio to another service', () => {
  const pair = (ours: number, theirs: number) => ({
    ours: round({ acceptedPerSecond: ours }),
    theirs: round({ acceptedPerSecond: theirs }),
  });

  test('is of the two that were measured in the same round', () => {
    const { accepted } = ratiosOf([pair(100, 50), pair(30, 10), pair(900, 300)]);
    expect(accepted).toEqual({ median: 3, least: 2, most: 3 });
  });

  test('is unknown when one of the two has no figure', () => {
    expect(ratiosOf([pair(100, 50), pair(100, 0)]).accepted).toBeNull();
    const uncounted = { ours: round(), theirs: round({ recording: null }) };
    expect(ratiosOf([uncounted]).recorded).toBeNull();
  });
});

test('the text has no figure for what a service does not name', () => {
  const text = blocksText(benchReports['beside'] ?? []);
  expect(text).toMatch(/sixteen-columns- +(– +){7}\?/);
  expect(text).toContain('NOBODY COUNTED THE ORDERS of sixteen-columns-: ');
});
