/**
 * What the page shows of a run under load: a fold of its events, the columns of its charts, and
 * the picture of its servers.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { type FaultVerb, faults, verbs } from '../../src/lab/faults/faults.ts';
import { type EventContent, emitter, type StageEvent } from '../../src/lab/stage/events.ts';
import { tellSeconds } from '../../src/lab/stage/runner.ts';
import { Timeline } from '../../src/lab/stage/timeline.ts';
import { fold } from '../../src/page/client/event-log.ts';
import {
  brokenNames,
  endedBy,
  marksOf,
  mayOutlastLease,
  momentsOf,
  offeredVerbs,
  type RunView,
  runSeries,
  seenVerdict,
  tiersOf,
} from '../../src/page/client/run-model.ts';
import { costTexts, toldSentence } from '../../src/page/client/sentences.tsx';
import { language } from '../../src/page/client/texts.ts';
import { en } from '../../src/page/client/texts-en.ts';
import { zh } from '../../src/page/client/texts-zh.ts';
import { recorderOf } from './recorder.ts';

const startMs = 5_000_000;
let nowMs = 0;
const nanoseconds = (ms: number) => BigInt(Math.round((startMs + ms) * 1_000_000));
const now = () => nanoseconds(nowMs);
const timeline = new Timeline(now);
const events: StageEvent[] = [];
const keep = (event: StageEvent) => event.kind !== 'purchase' && events.push(event);
const recorder = recorderOf([timeline.read, keep], now);
const emit = emitter([keep]);
const at = (ms: number) => {
  nowMs = ms;
  return recorder;
};
const answer = (ms: number, outcome: 'accepted' | 'refused' | 'unknown', reason = 'busy') =>
  at(ms).attempt({ outcome, reason, latencyMs: 10 });

emit(
  {
    kind: 'started',
    experiment: 'drill-example',
    about: { en: 'an example', zh: '' },
    options: {},
  },
  String(nanoseconds(-2_000)),
);
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
tellSeconds(timeline, emit)();
emit({
  ...{ kind: 'verdict', verdict: 'held', reasons: [], figures: {}, isInterrupted: false },
  ...{
    faults: { 'stop redis-1': 1, 'pause redis-2': 1, slow: 1 },
    loads: timeline.recorded().loads,
  },
});

function runIn(given: readonly StageEvent[]): RunView {
  const { run } = fold(given);
  if (!run) throw new Error('no run is shown');
  return run;
}
const run = runIn(events);
const seriesOf = (of: RunView) => runSeries({ seconds: of.seconds, marks: marksOf(of) });

afterEach(() => {
  language.value = 'en';
});

describe('the charts of a run', () => {
  const { seconds, accepted, refused, unknown, p99Ms, bars } = seriesOf(run);

  test('have one value for each second', () => {
    expect(seconds).toEqual([0, 1, 2, 3, 4, 5, 6]);
    for (const column of [accepted, refused, unknown, p99Ms])
      expect(column).toHaveLength(seconds.length);
  });

  test('show the answers; nothing where there was no load, or no answer to measure', () => {
    expect(accepted).toEqual([2, 0, 0, 1, 0, null, null]);
    expect(refused).toEqual([0, 1, 0, 0, 0, null, null]);
    expect(unknown).toEqual([0, 0, 0, 0, 1, null, null]);
    const measured = p99Ms.map((value) => value !== null);
    expect(measured).toEqual([true, true, false, true, true, false, false]);
  });

  test('have a bar for each load and each fault, from its start to its end', () => {
    const told = bars.map(({ row, state, text, fromSecond, toSecond }) =>
      [row, state, text, fromSecond, toSecond].join(', '),
    );
    expect(told).toEqual([
      'load, load, redlock, 0, 4.9',
      'redis-1, stopped, stopped, 1.25, 3.75',
      'redis-2, paused, paused, 1.3, 4',
      'redis-3, other, slow the link to redis-3, 4.1, 6.5',
    ]);
  });

  test('show a fault before its first second is over, and one that goes on', () => {
    const early = runIn(events.slice(0, 3)); // Until the first fault.
    expect(early.seconds).toEqual([]);
    expect(seriesOf(early).bars.map(({ row, fromSecond }) => [row, fromSecond])).toEqual([
      ['load', 0],
      ['redis-1', 1.25],
    ]);
  });
});

test('a run is told in sentences, in both languages', () => {
  const told = () => run.told.map(toldSentence);
  expect(told()).toEqual([
    '▶ load: redlock',
    '▼ stop redis-1',
    '▼ pause redis-2',
    '▲ redis-1 runs again',
    '▲ redis-2 resumes',
    '▼ slow the link to redis-3',
    '■ the load of redlock ends',
    '▲ end of: slow the link to redis-3',
  ]);
  language.value = 'zh';
  expect(told().slice(3, 5)).toEqual(['▲ redis-1 重新运行', '▲ redis-2 恢复']);
});

test('the verdict says what the run cost, as far as it had a load', () => {
  expect(costTexts(run)).toEqual([
    '3 faults.',
    '3 accepted, 1 refused, 1 unknown; the longest time without a sale was 3.5 s, from 0.3 to 3.8 s.',
  ]);
  const large = { load: 'redlock', accepted: 4_460, refused: 1_064, unknown: 55_361 };
  const ended = { ...run.verdict, loads: [{ ...large, withoutSale: null }] };
  const other = { ...run, verdict: ended as NonNullable<RunView['verdict']> };
  expect(costTexts(other)[1]).toBe('redlock: 4,460 accepted, 1,064 refused, 55,361 unknown.');
  language.value = 'zh';
  expect(costTexts(other)[1]).toBe('redlock：受理 4,460，拒绝 1,064，未知 55,361。');
});

test('one jumps to each fault and to its end, and to what went wrong', () => {
  const moments = momentsOf(run, []).map(({ kind, atMs }) => `${kind} ${atMs - startMs}`);
  expect(moments).toEqual([
    ...['fault 1250', 'fault 1300', 'healed 3750', 'healed 4000', 'fault 4100', 'healed 6500'],
  ]);
  const { verdict } = run;
  if (!verdict) throw new Error('no verdict is shown');
  const wrong = { violated: { verdict: 'violated' }, 'as the ladder claims': { asClaimed: ['x'] } };
  for (const [name, how] of Object.entries(wrong)) {
    const of = { ...run, verdict: { ...verdict, ...how } } as RunView;
    expect(
      momentsOf(of, []).map(({ kind }) => kind),
      name,
    ).toContain('wrong');
  }
});

test('a drill in which a promise broke as claimed has not held it', () => {
  const one = { en: 'user 7 has 2 orders', zh: '用户 7 有 2 个订单' };
  expect(seenVerdict({ verdict: 'held', asClaimed: [one] })).toBe('violated');
  expect(seenVerdict({ verdict: 'held' })).toBe('held');
  expect(seenVerdict({ verdict: 'unknown', asClaimed: [one] })).toBe('unknown');
});

test('loads that follow each other are not beside each other, though one second has both', () => {
  const follow = [...Array(9).keys()].map((second) => ({
    ...{ second, isLoaded: true, accepted: 1, refusedBecause: {}, unknown: 0, p99Ms: 5 },
    byInstance: {},
    ...(second === 4 && {
      byLoad: { a: { accepted: 1, p99Ms: 5 }, b: { accepted: 0, p99Ms: null } },
    }),
  }));
  expect(runSeries({ seconds: follow, marks: [] }).byLoad).toEqual([]);
});

test('a run that begins takes the place of the one before', () => {
  const next = events.slice(0, 2);
  expect(fold([...events, ...next]).run).toEqual(fold(next).run);
});

test('of two loads each has its own seconds, and each instance its sales', () => {
  const two = new Timeline(now);
  const own = recorderOf([two.read], now);
  nowMs = 20_000;
  own.loadStarted('redlock');
  own.loadStarted('lua-stream');
  own.attempt({ outcome: 'accepted', latencyMs: 40, instance: 'api-1' }, 'redlock');
  own.attempt({ outcome: 'accepted', latencyMs: 2, instance: 'api-2' }, 'lua-stream');
  own.attempt({ outcome: 'accepted', latencyMs: 3, instance: 'api-2' }, 'lua-stream');
  own.attempt({ outcome: 'refused', latencyMs: 9, instance: 'nginx' }, 'lua-stream');
  nowMs = 20_900;
  own.loadEnded('redlock');
  nowMs = 21_500;
  own.attempt({ outcome: 'accepted', latencyMs: 5, instance: 'api-1' }, 'lua-stream');
  own.loadEnded('lua-stream');
  const { byLoad, byInstance } = runSeries(two.recorded());
  expect(byLoad).toEqual([
    { name: 'redlock', accepted: [1, null], p99Ms: [40, null] },
    { name: 'lua-stream', accepted: [2, null], p99Ms: [9, null] },
  ]);
  expect(byInstance).toEqual([
    { name: 'api-1', sold: [1, 1] },
    { name: 'api-2', sold: [2, 0] },
  ]);
});

describe('the locks of a sale', () => {
  const lock = (leftMs: number | null, user = '7') => ({
    ...{ resource: `voucher:3:user:${user}`, owner: 'a1b2c3d4' },
    leftOn: { 'redis-1': leftMs, 'redis-2': leftMs },
  });
  const told = (locks: readonly ReturnType<typeof lock>[], p99Ms: number | null): StageEvent => ({
    ...{ kind: 'locks', rung: 'redlock', unread: [], locks, p99Ms },
    ...{ number: events.length + 1, at: '9000000000000' },
  });
  const locksAfter = (...more: readonly StageEvent[]) => {
    const { redlock: locks } = runIn([...events, ...more]).locks;
    if (!locks) throw new Error('no locks are shown');
    return locks;
  };

  test('a lease that grows again was renewed; one that runs out was not', () => {
    const view = locksAfter(
      told([lock(9_900), lock(9_000, '8')], 20),
      told([lock(8_900), lock(8_000, '8')], 20),
      told([lock(9_950), lock(7_000, '8')], 20),
    );
    expect([...view.renewed.values()]).toEqual([1, 0]);
    expect(view.leaseMs).toBe(9_950);
  });

  test('what is kept for most of its lease is unsafe, and without a lease nothing is said', () => {
    expect(mayOutlastLease(locksAfter(told([lock(9_900)], 7_000)))).toBe(false);
    expect(mayOutlastLease(locksAfter(told([lock(9_900)], 8_500)))).toBe(true);
    expect(mayOutlastLease(locksAfter(told([lock(null)], 8_500)))).toBe(false);
    expect(mayOutlastLease(locksAfter(told([lock(9_900)], null)))).toBe(false);
    const renewed = locksAfter(told([lock(3_000)], 8_000), told([lock(9_900)], 8_500));
    expect(mayOutlastLease(renewed)).toBe(false);
  });
});

const part = (name: string, state: 'runs' | 'paused' | 'stopped' = 'runs') => ({ name, state });

test('every server of a sale has its place, in the order in which a purchase passes them', () => {
  const names = ['mariadb', 'redis-main', 'zookeeper', 'redis-1', 'nginx', 'rabbitmq', 'api-1'];
  const all = [...names, 'api-worker-1', 'redis-replica', 'sentinel-1'].map((name) => part(name));
  const shown = tiersOf(all).map((tier) => tier.map(({ name }) => name));
  expect(shown.flat().toSorted()).toEqual(all.map(({ name }) => name).toSorted());
  expect(shown.map(([first]) => first)).toEqual([
    ...['nginx', 'api-1', 'redis-main', 'zookeeper', 'mariadb'],
  ]);
});

test('what stands still is mended first, and a server is offered what can be done to it', () => {
  expect(offeredVerbs(part('redis-1', 'stopped'), true)).toEqual(['start']);
  expect(offeredVerbs(part('nginx', 'paused'), true)).toEqual(['resume', 'kill']);
  expect(offeredVerbs(part('redis-1'), true)).toEqual(['mend']); // It is slow, or cut off.
  expect(offeredVerbs(part('nginx'), false)).toEqual(['stop', 'kill', 'pause']);
  expect(offeredVerbs(part('mariadb'), false)).toContain('drop');
  expect(offeredVerbs(part('redis-2'), false)).toContain('restart-empty');
  expect(offeredVerbs(part('api-2'), false)).toContain('step-clock-back');
  expect(offeredVerbs(part('api-worker-1'), false)).not.toContain('step-clock-back');
});

test('what is offered can hit the server, as the table of faults says', () => {
  const hitsOf = (name: string) =>
    new Set(offeredVerbs(part(name), false).map((verb) => faults[verb as FaultVerb].hits));
  expect(hitsOf('nginx')).toEqual(new Set(['process']));
  expect(hitsOf('mariadb')).toEqual(new Set(['process', 'network']));
  expect(hitsOf('redis-2')).toEqual(new Set(['process', 'redis', 'network']));
  expect(hitsOf('api-1')).toEqual(new Set(['process', 'instance']));
});

test('what has ended is called by what was done to it', () => {
  expect(endedBy(['stop redis-1'])).toBe('stopped');
  expect(endedBy(['slow redis-1 by 2000 ms', 'kill redis-1'])).toBe('killed');
  expect(endedBy(['fill the disk of redis-1'])).toBe('ended');
  expect(endedBy([])).toBe('ended');
});

test('every verb that is offered is one of the lab, and says in both languages what it will do', () => {
  const states = ['runs', 'paused', 'stopped'] as const;
  const names = ['nginx', 'redis-1', 'mariadb', 'api-1', 'api-worker-1', 'zookeeper'];
  const offered = names.flatMap((name) =>
    states.flatMap((state) => offeredVerbs(part(name, state), false)),
  );
  for (const verb of new Set(offered)) {
    expect([...verbs, 'start', 'resume']).toContain(verb);
    for (const { handVerbs } of [en, zh]) expect(handVerbs[verb]?.[1], verb).toBeTruthy();
  }
});

test('a fault is open until it ends; two of one name are told apart', () => {
  const emitted: EventContent[] = [
    { kind: 'started', experiment: 'break-redlock', about: { en: '', zh: '' }, options: {} },
    { kind: 'fault', id: 1, name: 'stop redis-1' },
    { kind: 'fault', id: 2, name: 'stop redis-1' },
    { kind: 'healed', id: 1, name: 'stop redis-1' },
  ];
  const told = emitted.map((event, number): StageEvent => ({ ...event, number, at: '0' }));
  expect(brokenNames(runIn(told))).toEqual(['stop redis-1']);
});
