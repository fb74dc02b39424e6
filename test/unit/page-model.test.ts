/** What the page shows, from the recorded events of real plays: `race --choices` wrote them. */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { cursor, take, world } from '../../src/lab/page/client/event-log.ts';
import {
  add,
  emptyWorld,
  firstDifference,
  fold,
  isOver,
  lettersOf,
  type PlayView,
  soldIn,
  type World,
} from '../../src/lab/page/client/model.ts';
import { rowSentence } from '../../src/lab/page/client/sentences.ts';
import { language } from '../../src/lab/page/client/texts.ts';
import { replayFile } from '../../src/lab/report/replay-file.ts';
import type { StageEvent } from '../../src/lab/stage/events.ts';

const recorded = (name: string): StageEvent[] =>
  readFileSync(new URL(`recorded/${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as StageEvent);

const mutex = recorded('AABBAB-mutex-per-user');
const lock = recorded('AABBAB-redis-atomic');
const killed = recorded('AABXAB-redis-atomic');

const playIn = ({ plays }: World): PlayView => {
  const [play] = plays.values();
  if (!play) throw new Error('no play is shown');
  return play;
};
const shown = (events: readonly StageEvent[]) => playIn(fold(events));
const told = ({ rows }: PlayView) =>
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
    expect({ isOver: isOver(play), isFinal: play.isFinal, sold: soldIn(play) }).toEqual({
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
    expect({ broken: play.broken, sold: soldIn(play) }).toEqual({ broken: [], sold: 1 });
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

test('no text of an event can end the element that it is in', () => {
  const evil = '</script><script>alert(1)</script><!--';
  const event = { kind: 'note', text: evil, number: 1, at: '1' } as const;
  const html = replayFile({ script: `'${evil}'`, style: '', events: [event] });
  const [, json = ''] = /id="recorded">(.*?)<\/script>/s.exec(html) ?? [];
  expect(JSON.parse(json)).toEqual([event]);
  expect(html.match(/<\/script>/g)).toHaveLength(2);
  expect(html).not.toContain('<!--');
});
