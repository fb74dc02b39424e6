/** The page of a result: its columns have one length, and its bars are the marks. */

import { Script } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { phaseTable } from '../../src/lab/drills/phases.ts';
import { resultPage, verdictSentence } from '../../src/lab/report/result-page.ts';
import type { Series } from '../../src/lab/report/result-series.ts';
import type { Result } from '../../src/lab/stage/result.ts';
import { Timeline } from '../../src/lab/stage/timeline.ts';
import { recorderOf } from '../support/recorder.ts';

let nowMs = 0;
const nanoseconds = (ms: number) => BigInt(Math.round(ms * 1_000_000));
const now = () => nanoseconds(nowMs);
const timeline = new Timeline(now);
const recorder = recorderOf(timeline, now);
const at = (ms: number) => {
  nowMs = ms;
  return recorder;
};
const answer = (ms: number, outcome: 'accepted' | 'refused' | 'unknown', reason = 'busy') =>
  at(ms).attempt({ outcome, reason, latencyMs: 10 });

at(0).loadStarted('redlock');
answer(200, 'accepted');
answer(300, 'accepted');
at(1_250).faultStarted('stop redis-1');
at(1_300).faultStarted('pause redis-2');
answer(1_400, 'refused');
at(3_750).faultEnded('stop redis-1');
answer(3_800, 'accepted');
at(4_000).faultEnded('pause redis-2');
at(4_100).faultStarted('slow the link to redis-3');
answer(4_200, 'unknown', 'timeout');
at(4_900).loadEnded('redlock');
at(6_500).faultEnded('slow the link to redis-3');
const recorded = timeline.recorded();

const result: Omit<Result, 'facts'> = {
  verdict: 'held',
  reasons: [],
  figures: { longestGapMs: 3_500 },
  faults: { 'stop redis-1': 1, 'pause redis-2': 1, 'slow the link to redis-3': 1 },
  tables: [
    phaseTable([
      {
        ...{ rung: 'redlock', phase: 'during', accepted: 1, unknown: 1, p99Ms: 10 },
        ...{ refusedBecause: { busy: 1 }, withoutSalesMs: 3_500, resumedAfterMs: null },
      },
    ]),
  ],
  ...{ isInterrupted: false, recorded },
};
const command = 'npx lockstep drill example --minutes 1 --seed 7';
const page = (given: Partial<typeof result> = {}) =>
  resultPage({
    ...{ experiment: 'example', about: 'an example', command, time: '2026-01-01T000000Z' },
    ...{ machine: { cores: '2' }, result: { ...result, ...given } },
  });

const scripts = (html: string, attributes = ''): string[] =>
  [...html.matchAll(new RegExp(`<script${attributes}>(.*?)</script>`, 'gs'))].map(
    ([, text = '']) => text,
  );
const seriesOf = (html: string): Series => {
  const [text = '', ...more] = scripts(html, ' type="application/json" id="series"');
  expect(more).toEqual([]);
  return JSON.parse(text) as Series;
};

describe('the series in the page of a result', () => {
  const { seconds, accepted, refused, unknown, p99Ms, bars, endSecond } = seriesOf(page());

  test('have one value for each second', () => {
    expect(seconds).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(endSecond).toBe(7);
    for (const column of [accepted, refused, unknown, p99Ms])
      expect(column).toHaveLength(seconds.length);
  });

  test('are the answers; nothing where there was no load, or no answer to measure', () => {
    expect(accepted).toEqual([2, 0, 0, 1, 0, null, null]);
    expect(refused).toEqual([0, 1, 0, 0, 0, null, null]);
    expect(unknown).toEqual([0, 0, 0, 0, 1, null, null]);
    const measured = p99Ms.map((value) => value !== null);
    expect(measured).toEqual([true, true, false, true, true, false, false]);
  });

  test('have a bar for each load and each fault, from its start to its end', () => {
    const bar = (
      row: string,
      state: string,
      text: string,
      fromSecond: number,
      toSecond: number,
    ) => ({ row, state, text, fromSecond, toSecond });
    const slow = 'slow the link to redis-3';
    expect(bars).toEqual([
      bar('load', 'load', 'redlock', 0, 4.9),
      bar('redis-1', 'stopped', 'stopped', 1.25, 3.75),
      bar('redis-2', 'paused', 'paused', 1.3, 4),
      bar(slow, 'other', slow, 4.1, 6.5),
    ]);
    for (const mark of recorded.marks) {
      const edges = bars.map((each) => (mark.isStart ? each.fromSecond : each.toSecond));
      expect(edges).toContain(mark.atMs / 1_000);
    }
  });
});

describe('the page of a result', () => {
  test('needs no other file, and its script can be parsed', () => {
    const html = page();
    expect(html).not.toMatch(/<(?:script|img|link)[^>]*(?:src|href)=|@import|url\(/);
    const [chart = '', ...more] = scripts(html);
    expect(more).toEqual([]);
    expect(() => new Script(chart)).not.toThrow();
    expect(chart).toContain('uPlot');
  });

  test('has the command that repeats it, and every figure, phase and fault', () => {
    const html = page();
    for (const text of [command, 'longest gap ms', '3,500', 'during', 'never', '1 busy'])
      expect(html).toContain(text);
    for (const name of Object.keys(result.faults)) expect(html).toContain(name);
  });

  test('says the verdict in one sentence: what it cost, or why it did not hold', () => {
    expect(verdictSentence(result)).toBe(
      'held through 3 faults. 3 accepted, 1 refused, 1 unknown; ' +
        'the longest time without a sale was 3.5 s.',
    );
    const broken = { ...result, verdict: 'violated', reasons: ['2 lost', 'other'] } as const;
    expect(verdictSentence(broken)).toBe('violated: 2 lost (2 reasons)');
    const claimed = { ...broken, isAsClaimed: true, reasons: [], asClaimed: ['2 orders'] };
    expect(verdictSentence(claimed)).toBe('violated, as the ladder claims: 2 orders');
  });

  test('has no chart when there was no load', () => {
    const empty = { ...result.recorded, marks: [] };
    const html = page({ recorded: empty });
    expect(scripts(html)).toEqual([]);
    expect(html).not.toContain('answers:');
    expect(verdictSentence({ ...result, recorded: empty })).toBe('held. Faults: 3.');
  });

  test('shows a reason as text, never as a part of the page', () => {
    const html = page({ verdict: 'unknown', reasons: ['</script><script>alert(1)</script>'] });
    expect(html).not.toContain('<script>alert');
    expect(scripts(html)).toHaveLength(1);
    expect(seriesOf(html).seconds).toHaveLength(7);
  });
});
