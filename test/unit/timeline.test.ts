/** The timeline of a drill: each answer counts in its second, each fault has a start and an end. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Lab } from '../../src/lab/environment/lab.ts';
import { markText } from '../../src/lab/report/fault-words.ts';
import { liveHead, liveLegend, liveReader, secondLine } from '../../src/lab/report/live-lines.ts';
import { faultTable } from '../../src/lab/stage/costs.ts';
import { type BuyerAnswer, emitter, type Reader } from '../../src/lab/stage/events.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import { tellSeconds } from '../../src/lab/stage/runner.ts';
import { spansOf } from '../../src/lab/stage/seconds.ts';
import { Stage } from '../../src/lab/stage/stage.ts';
import { rowTexts } from '../../src/lab/stage/table.ts';
import { Timeline } from '../../src/lab/stage/timeline.ts';
import { languages } from '../../src/texts/texts.ts';
import { recorderOf } from './recorder.ts';
import { tooWide } from './terminal.ts';

/** A clock that stands still until the test moves it. */
function timelineAt(also: Reader = () => {}) {
  let nowMs = 0;
  const nanoseconds = (ms: number) => BigInt(Math.round((1_000_000 + ms) * 1_000_000));
  const now = () => nanoseconds(nowMs);
  const timeline = new Timeline(now);
  const recorder = recorderOf([timeline.read, also], now);
  const at = (ms: number) => {
    nowMs = ms;
    return recorder;
  };
  const answer = (ms: number, given: Partial<BuyerAnswer> = {}) =>
    recorder.attempt({
      ...{ outcome: 'accepted', latencyMs: 5, answeredAt: String(nanoseconds(ms)) },
      ...given,
    });
  return { timeline, at, answer };
}

describe('the seconds of a timeline', () => {
  test('count each answer in the second in which it came, whatever the order', () => {
    const { timeline, at, answer } = timelineAt();
    at(0).loadStarted('lua-stream');
    answer(2_500, { outcome: 'unknown', latencyMs: 2_000 });
    answer(10);
    answer(999);
    answer(1_000, { outcome: 'refused', reason: 'busy', latencyMs: 40 });
    answer(1_999, { outcome: 'refused', reason: 'busy', latencyMs: 1 });
    answer(1_200, { outcome: 'refused', reason: 'sold-out', latencyMs: 1 });
    at(3_000).loadEnded('lua-stream');
    const [first, second, third] = timeline.recorded().seconds;
    expect(first).toMatchObject({ second: 0, accepted: 2, refusedBecause: {}, unknown: 0 });
    expect(second).toMatchObject({ accepted: 0, refusedBecause: { busy: 2, 'sold-out': 1 } });
    expect(second?.p99Ms).toBeCloseTo(40, 0);
    expect(third).toMatchObject({ accepted: 0, unknown: 1 });
  });

  test('have no gap, and say when there was no load and when no answer came', () => {
    const { timeline, at, answer } = timelineAt();
    at(0).loadStarted('one');
    answer(100);
    at(1_500).loadEnded('one');
    at(3_500).loadStarted('other');
    at(5_100).attempt({ outcome: 'unknown' });
    at(5_200).loadEnded('other');
    const { seconds } = timeline.recorded();
    expect(seconds.map(({ second }) => second)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(seconds.filter(({ isLoaded }) => !isLoaded)).toMatchObject([{ second: 2 }]);
    expect(seconds.filter(({ p99Ms }) => p99Ms !== null)).toMatchObject([{ second: 0 }]);
  });

  test('are none before anything happened', () => {
    expect(new Timeline().recorded()).toEqual({ seconds: [], marks: [], loads: [] });
  });

  test('the longest time without a sale is between two sales of one load', () => {
    const { timeline, at, answer } = timelineAt();
    at(0).loadStarted('one');
    answer(3_100);
    answer(100);
    answer(2_000, { outcome: 'refused' });
    at(3_200).loadEnded('one');
    at(9_000).loadStarted('other');
    answer(9_100);
    expect(timeline.recorded().loads).toMatchObject([
      { load: '', accepted: 3, refused: 1, withoutSale: { fromMs: 100, toMs: 3_100 } },
    ]);
  });

  test('a load that never sells again is without a sale to the last buyer who wanted one', () => {
    const { timeline, at } = timelineAt();
    at(0).loadStarted('redlock');
    at(0).loadStarted('lua-stream');
    at(500).attempt({ outcome: 'accepted' }, 'redlock');
    at(600).attempt({ outcome: 'unknown' }, 'lua-stream');
    at(700).attempt({ outcome: 'accepted' }, 'lua-stream');
    at(5_000).attempt({ outcome: 'refused', reason: 'lock-service-unavailable' }, 'redlock');
    at(9_000).attempt({ outcome: 'refused', reason: 'sold-out' }, 'lua-stream');
    at(9_000).attempt({ outcome: 'refused', reason: 'already-ordered' }, 'redlock');
    expect(timeline.recorded().loads.map(({ withoutSale }) => withoutSale)).toEqual([
      { fromMs: 500, toMs: 5_000 },
      { fromMs: 600, toMs: 700 },
    ]);
  });

  test('single purchases beside a load are no load of their own', () => {
    const { timeline, at, answer } = timelineAt();
    at(0).loadStarted('lua-stream');
    at(500).attempt({ outcome: 'accepted' }, 'lua-stream');
    answer(600);
    expect(timeline.recorded().loads).toMatchObject([{ load: 'lua-stream', accepted: 1 }]);
  });
});

test('each fault has a row for each load that it met: what it cost, and when it sold again', () => {
  const { timeline, at } = timelineAt();
  expect(faultTable(timeline)).toBeUndefined();
  at(0).loadStarted('redlock');
  at(0).loadStarted('lua-stream');
  at(1_000).faultStarted('stop redis-2');
  at(1_200).attempt({ outcome: 'unknown' }, 'redlock');
  at(1_300).attempt({ outcome: 'accepted' }, 'lua-stream');
  at(2_000).attempt({ outcome: 'refused', reason: 'busy' }, 'redlock');
  at(3_000).faultEnded('stop redis-2');
  at(3_250).attempt({ outcome: 'accepted' }, 'redlock');
  at(4_000).loadEnded('redlock');
  at(4_000).loadEnded('lua-stream');
  at(5_000).faultStarted('kill nginx'); // It met nobody.
  const { head = [], rows = [], legend = {} } = faultTable(timeline) ?? {};
  const names = head.map((name) => textIn('en', name));
  expect(names).toEqual(['fault', 'load', 'from s', 'to s', 'sold', 'refused', '?', 'back ms']);
  expect(rowTexts('en', rows)).toEqual([
    ['stop redis-2', 'redlock', '1.0', '3.0', '0', '1', '1', '250'],
    ['stop redis-2', 'lua-stream', '1.0', '3.0', '1', '0', '0', '–'],
  ]);
  expect(Object.keys(legend).filter((name) => !names.includes(name))).toEqual([]);
});

test('of a fault it counts the lost orders, where somebody has looked for them', () => {
  const { timeline, at } = timelineAt();
  const sold = (orderId: string) => ({ outcome: 'accepted', orderId }) as const;
  at(0).loadStarted('redlock');
  at(500).attempt(sold('5'), 'redlock');
  at(1_000).faultStarted('stop redis-2');
  for (const orderId of ['6', '7', '7', '8']) at(1_500).attempt(sold(orderId), 'redlock');
  at(1_600).attempt({ ...sold('5'), outcome: 'refused' }, 'redlock'); // It was sold before.
  at(2_000).faultEnded('stop redis-2');
  at(2_250).attempt(sold('9'), 'redlock');
  const { head, rows, legend } = faultTable(timeline, ['5', '7', '8', '9']) ?? {};
  expect(head?.slice(-2).map((name) => textIn('en', name))).toEqual(['lost', 'back ms']);
  expect(Object.keys(legend ?? {})).toContain('lost');
  expect(rows?.map((row) => row.slice(-2))).toEqual([['2', '250']]);
});

describe('the spans of a timeline', () => {
  test('pair each start with the next end of its name; an open one lasts to the end', () => {
    const { timeline, at } = timelineAt();
    at(0).faultStarted('kill redis-main');
    at(500).faultStarted('pause api-1');
    at(1_000).faultEnded('kill redis-main');
    at(2_000).faultStarted('kill redis-main');
    at(3_000).faultEnded('kill redis-main');
    expect(spansOf(timeline.marks, 'fault', 9_000)).toEqual([
      { name: 'kill redis-main', fromMs: 0, toMs: 1_000 },
      { name: 'pause api-1', fromMs: 500, toMs: 9_000 },
      { name: 'kill redis-main', fromMs: 2_000, toMs: 3_000 },
    ]);
    expect(spansOf(timeline.marks, 'load', 9_000)).toEqual([]);
  });

  test('a fault lasts from before its injection until its undo is done, or it failed', async () => {
    const told: string[] = [];
    const emit = emitter([({ kind }) => told.push(kind)]);
    const stage = new Stage({} as Lab, new AbortController().signal, emit);
    const fault = (result: Promise<void>) => ({
      name: 'stop redis-1',
      async inject() {
        told.push('injecting');
        await result;
        return async () => void told.push('undone');
      },
    });
    const undo = await stage.inject(fault(Promise.resolve()));
    expect(told).toEqual(['fault', 'injecting']);
    await undo();
    await undo(); // A second time is nothing.
    expect(told.splice(0)).toEqual(['fault', 'injecting', 'undone', 'healed']);
    await expect(stage.inject(fault(Promise.reject(new Error('no'))))).rejects.toThrow('no');
    expect(told).toEqual(['fault', 'injecting', 'healed']);
  });
});

test('no experiment injects a fault or sends a steady load past its stage', () => {
  const folders = ['drills', 'play', 'soak', 'mutants', 'scoreboard'];
  const files = folders.flatMap((folder) =>
    readdirSync(`src/lab/${folder}`).map((file) => `src/lab/${folder}/${file}`),
  );
  const direct = files.filter((file) =>
    /(?<!stage)\.inject\(|\bbuySteadily\b/.test(readFileSync(file, 'utf8')),
  );
  expect(direct).toEqual([]);
});

describe('the live lines', () => {
  const busiest = {
    ...{ second: 3_600, isLoaded: true, accepted: 123_456, unknown: 12_345, p99Ms: 12_345.6 },
    byInstance: {},
    refusedBecause: {
      ...{ 'lock-service-unavailable': 12_345, 'already-ordered': 6_789 },
      ...{ 'database-busy': 4_321, busy: 99_999 },
    },
  };

  test('fit 80 columns, with the most frequent reasons first', () => {
    const line = secondLine(busiest);
    expect(line).toContain('busy 99999, away 12345 …');
    const texts = languages.flatMap((each) => [liveLegend(each), liveHead(each)]);
    expect(tooWide([...texts, line].join('\n'))).toEqual([]);
    expect(secondLine({ ...busiest, refusedBecause: { ['x'.repeat(99)]: 1 } })).toHaveLength(
      line.length,
    );
  });

  test('have each number under its head', () => {
    const ends = (text: string) =>
      [...text.matchAll(/\S+( ms)?(?= |$)/g)].map(({ index, 0: word }) => index + word.length);
    const [second, accepted, refused, unknown, p99] = ends(liveHead('en'));
    const line = secondLine({ ...busiest, refusedBecause: {} });
    expect(ends(line)).toEqual([second, accepted, refused, unknown, p99]);
  });

  test('print a mark before the line of its second, and no line without a load', () => {
    const lines: string[] = [];
    const live = liveReader((line) => lines.push(line));
    const { timeline, at, answer } = timelineAt(live.read);
    const tellRest = tellSeconds(timeline, emitter([live.read]));
    at(0).loadStarted('redlock');
    answer(100);
    at(1_980).faultStarted('kill redis-1');
    at(2_500).faultEnded('kill redis-1');
    at(2_600).loadEnded('redlock');
    at(4_000).loadStarted('multilock');
    tellRest();
    live.end();
    expect(lines.shift()).toBe(liveLegend('en'));
    expect(lines.map((line) => line.trim().split(/ {2,}/).slice(0, 2).join(' '))).toEqual([
      ...['second accepted', '0.0 ▶ load: redlock', '0 1', '1.9 ▼ kill redis-1', '1 0'],
      ...['2.5 ▲ redis-1 runs again', '2.6 ■ the load of redlock ends', '2 0'],
      ...['4.0 ▶ load: multilock', '4 0'],
    ]);
  });

  test('say what a fault did, and what its end means', () => {
    const said = (name: string) =>
      [true, false].map((isStart) => markText({ of: 'fault', isStart, name }, 'en'));
    expect(said('stop redis-2')).toEqual(['▼ stop redis-2', '▲ redis-2 runs again']);
    expect(said('pause api-1')).toEqual(['▼ pause api-1', '▲ api-1 resumes']);
    const flush = 'flush the scripts of redis-main';
    expect(said(flush)).toEqual([`▼ ${flush}`, `▲ end of: ${flush}`]);
  });
});
