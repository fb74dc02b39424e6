/**
 * What the page shows of plays and of races that play themselves, from the recorded events of real
 * ones: `race` wrote them.
 */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { ordersIn } from '../../src/lab/play/outcomes.ts';
import { replayFile } from '../../src/lab/report/replay-file.ts';
import type { PlayedStep, StageEvent } from '../../src/lab/stage/events.ts';
import { nameOfPlace } from '../../src/lab/stage/place.ts';
import { add, cursor, emptyWorld, fold, take, world } from '../../src/page/client/event-log.ts';
import {
  firstDifference,
  isOver,
  lettersOf,
  msOf,
  type PlayView,
  type RaceView,
} from '../../src/page/client/play-model.ts';
import { momentsOf } from '../../src/page/client/run-model.ts';
import { rowSentence } from '../../src/page/client/sentences.tsx';
import { language } from '../../src/page/client/texts.ts';

const recorded = (name: string): StageEvent[] =>
  readFileSync(new URL(`recorded/${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as StageEvent);

const mutex = recorded('AABBAB-mutex-per-user');
const lock = recorded('AABBAB-redis-atomic');
const killed = recorded('AABXAB-redis-atomic');

const isOfServers = ({ place }: PlayedStep) => ['injected', 'healed'].includes(nameOfPlace(place));

const raced = recorded('race-restart-empty-redlock');
const heldRace = recorded('race-holder-cut-off-redis-reentrant');

function the<Of>(views: Iterable<Of>): Of {
  const last = [...views].at(-1);
  if (!last) throw new Error('nothing is shown');
  return last;
}
const shown = (events: readonly StageEvent[]): PlayView => the(fold(events).plays.values());
const shownRace = (events: readonly StageEvent[]): RaceView => the(fold(events).races.values());
const told = ({ rows }: PlayView | RaceView) =>
  rows.map((row) => {
    const { mark, text } = rowSentence(row);
    return `${row.lane} ${mark} ${text.replace(/…\d+/, '…')}`;
  });

afterEach(() => {
  language.value = 'en';
});

describe('a play on the mutex', () => {
  test('shows each choice, and the second order of the user as the wrong step', () => {
    const play = shown(mutex);
    expect(lettersOf(play)).toBe('AABBAB');
    expect(told(play)).toEqual([
      'A ● has the lock',
      'A ● has looked: it may buy',
      'B ● has the lock',
      'B ● has looked: it may buy',
      'A ✓ buys: order …',
      'B ✗ buys: order …',
    ]);
    expect(play.broken.map(({ check, orders }) => [check, orders.length])).toEqual([
      ['one-order-per-user', 2],
    ]);
    expect({ isOver: isOver(play), isFinal: play.isFinal, sold: ordersIn(play.readings) }).toEqual({
      ...{ isOver: true, isFinal: true, sold: 2 },
    });
  });

  test('is told in Chinese from the same events', () => {
    language.value = 'zh';
    expect(told(shown(mutex)).slice(0, 2)).toEqual(['A ● 得到锁', 'A ● 检查完毕：可以购买']);
  });

  test('marks what the last choice changed', () => {
    const third = mutex.findIndex((event) => event.kind === 'still' && event.step === 3);
    const play = shown(mutex.slice(0, third + 1));
    expect([...play.changed]).toEqual(['mutex api-2']);
    const owners = play.readings.filter(({ id }) => id === 'mutex').map(({ lane }) => lane);
    expect(owners).toEqual(['A', 'B']);
    expect(play.broken).toEqual([]);
  });
});

describe('the same choices on the Redis lock', () => {
  test('show the second buyer waiting, and differ from the mutex at the third row', () => {
    const play = shown(lock);
    expect(told(play)).toEqual([
      'A ● has the lock',
      'A ● has looked: it may buy',
      'B ◌ waits: A has the lock',
      'B – cannot go: waits for A',
      'A ✓ buys: order …',
      'B ● has the lock',
      'B ✓ is told: you have an order',
    ]);
    expect(firstDifference(shown(mutex), play)).toBe(2);
    expect(firstDifference(play, play)).toBeUndefined();
    expect({ broken: play.broken, sold: ordersIn(play.readings) }).toEqual({ broken: [], sold: 1 });
  });
});

test('a killed process is told before the answer that never comes, and its waiter knows', () => {
  expect(told(shown(killed)).slice(2, 6)).toEqual([
    'B ◌ waits: A has the lock',
    'A ✕ its process is killed',
    'B ◌ waits for A, which is dead',
    'B – cannot go: waits for A',
  ]);
});

test('a cursor at any event shows what was shown when that event was the last one', () => {
  let live = emptyWorld;
  for (const [index, event] of mutex.entries()) {
    live = add(live, event);
    expect(fold(mutex.slice(0, index + 1))).toEqual(live);
  }
});

test('events of a play that began before the page came are left out', () => {
  expect(fold(mutex.slice(3))).toEqual(emptyWorld);
});

test('a cursor that jumps in many events shows what a fold from the first one shows', () => {
  const many = Array.from({ length: 1_300 }, (_, index): StageEvent => {
    const event = mutex[index % mutex.length] as StageEvent;
    const player = `play ${Math.floor(index / mutex.length)}`;
    return { ...event, number: index + 1, ...('player' in event && { player }) } as StageEvent;
  });
  for (const event of many) take(event);
  for (const count of [1, 499, 500, 501, 999, 1_000, 1_300]) {
    cursor.value = count;
    expect(world.value, String(count)).toEqual(fold(many.slice(0, count)));
  }
});

describe('a race that plays itself', () => {
  test('the rung with the bug is told in the words of the schedule, once the bug has shown', () => {
    expect(told(shownRace(raced))).toEqual([
      'S ✕ no more run than the lock needs',
      'A ● has the lock, checked its lease',
      'S ▶ all run again',
      'S ✕ one of A’s restarts empty',
      'B ● gets the lock and finds no order',
      'A ✓ commits',
      'B ✗ inserts a second order',
    ]);
    language.value = 'zh';
    expect(told(shownRace(raced)).at(-1)).toBe('B ✗ 插入第二个订单');
  });

  test('until it is judged, a step says only where its lane is, and none is wrong', () => {
    const running = shownRace(raced.filter(({ kind }) => kind !== 'race-judged'));
    expect(told(running).slice(4)).toEqual(['B ● has looked: it may buy', 'A ✓ buys', 'B ✓ buys']);
    expect(running.judged).toBeUndefined();
  });

  test('a race that held is never told in the words of the bug', () => {
    const steps = heldRace.flatMap((event) =>
      event.kind === 'step' && !isOfServers(event) ? [event] : [],
    );
    const bug = steps.map(({ says }) => says.en);
    const race = shownRace(heldRace);
    expect(race.judged).toMatchObject({ verdict: 'held', isAsClaimed: true });
    expect(told(race).filter((text) => bug.some((each) => text.endsWith(` ${each}`)))).toEqual([]);
  });

  test('where the bug is not that of this rung, the words are those of the place', () => {
    const elsewhere = raced.map((event) =>
      event.kind === 'race' ? { ...event, isOfBug: false } : event,
    );
    expect(told(shownRace(elsewhere)).at(-1)).toBe('B ✗ buys');
  });

  test('one jumps to each of its steps, at the moment of its event', () => {
    const steps = raced.flatMap((event) => (event.kind === 'step' ? [msOf(event)] : []));
    const moments = momentsOf({ told: [] }, [shownRace(raced)]);
    expect(moments.map(({ atMs }) => atMs)).toEqual(steps);
    expect(moments.map(({ kind }) => kind)).toEqual([...Array(6).fill('step'), 'wrong']);
  });

  test('a race that is played again begins anew, and stays the last one', () => {
    const races = fold([...raced, ...heldRace, ...raced.slice(0, 4)]).races;
    expect([...races.keys()]).toEqual(['holder-cut-off-redis-reentrant', 'restart-empty-redlock']);
    expect(races.get('restart-empty-redlock')?.rows).toHaveLength(2);
    expect(races.get('holder-cut-off-redis-reentrant')?.rows).toHaveLength(8);
  });

  test('a lane stands where its last step left it; a fault in the servers moves none', () => {
    const states = (count: number) =>
      [...shownRace(raced.slice(0, count)).lanes.values()].map(
        ({ name, state }) => `${name} ${state}`,
      );
    const first = raced.findIndex(({ kind }) => kind === 'step');
    expect(states(first + 2)).toEqual(['A at', 'B idle', 'S idle']);
    expect(states(raced.length)).toEqual(['A answered', 'B answered', 'S idle']);
  });
});

test('no text of an event can end the element that it is in', () => {
  const evil = '</script><script>alert(1)</script><!--';
  const event = { kind: 'note', text: evil, number: 1, at: '1' } as const;
  const html = replayFile({ packed: '', events: [event] });
  const [, json = ''] = /id="recorded">(.*?)<\/script>/s.exec(html) ?? [];
  expect(JSON.parse(json)).toEqual([event]);
  expect(html.match(/<\/script>/g)).toHaveLength(3);
  expect(html).not.toContain('<!--');
});
