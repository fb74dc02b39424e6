/** What the page shows of a race that plays itself, from the recorded events of real races. */
import { readFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { fold } from '../../src/lab/page/client/model.ts';
import type { RaceView } from '../../src/lab/page/client/race-model.ts';
import { rowSentence } from '../../src/lab/page/client/sentences.ts';
import { language } from '../../src/lab/page/client/texts.ts';
import type { StageEvent } from '../../src/lab/stage/events.ts';

const recorded = (name: string): StageEvent[] =>
  readFileSync(new URL(`recorded/race-${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as StageEvent);

const broken = recorded('restart-empty-redlock');
const held = recorded('holder-cut-off-redis-reentrant');

function shown(events: readonly StageEvent[]): RaceView {
  const last = [...fold(events).races.values()].at(-1);
  if (!last) throw new Error('no race is shown');
  return last;
}
const told = ({ rows }: RaceView) =>
  rows.map((row) => {
    const { mark, text } = rowSentence(row);
    return `${row.lane} ${mark} ${text}`;
  });

afterEach(() => {
  language.value = 'en';
});

test('the rung with the bug is told in the words of the schedule, once the bug has shown', () => {
  expect(told(shown(broken))).toEqual([
    'S ✕ no more run than the lock needs',
    'A ● has the lock, checked its lease',
    'S ▶ all run again',
    'S ✕ one of A’s restarts empty',
    'B ● gets the lock and finds no order',
    'A ✓ commits',
    'B ✗ inserts a second order',
  ]);
  language.value = 'zh';
  expect(told(shown(broken)).at(-1)).toBe('B ✗ 插入第二个订单');
});

test('until it is judged, a step says only where its lane is, and none is wrong', () => {
  const running = shown(broken.filter(({ kind }) => kind !== 'race-judged'));
  expect(told(running).slice(4)).toEqual(['B ● has looked: it may buy', 'A ✓ buys', 'B ✓ buys']);
  expect(running.judged).toBeUndefined();
});

test('a race that held is never told in the words of the bug', () => {
  const steps = held.flatMap((event) => (event.kind === 'step' && event.place ? [event] : []));
  const bug = steps.map(({ says }) => says.en);
  const race = shown(held);
  expect(race.judged).toMatchObject({ verdict: 'held', isAsClaimed: true });
  expect(told(race).filter((text) => bug.some((each) => text.endsWith(` ${each}`)))).toEqual([]);
});

test('where the bug is not that of this rung, the words are those of the place', () => {
  const elsewhere = broken.map((event) =>
    event.kind === 'race' ? { ...event, isOfBug: false } : event,
  );
  expect(told(shown(elsewhere)).at(-1)).toBe('B ✗ buys');
});

test('a race that is played again begins anew, and stays the last one', () => {
  const races = fold([...broken, ...held, ...broken.slice(0, 4)]).races;
  expect([...races.keys()]).toEqual(['holder-cut-off-redis-reentrant', 'restart-empty-redlock']);
  expect(races.get('restart-empty-redlock')?.rows).toHaveLength(2);
  expect(races.get('holder-cut-off-redis-reentrant')?.rows).toHaveLength(8);
});

test('a lane stands where its last step left it; a fault in the servers moves none', () => {
  const states = (count: number) =>
    [...shown(broken.slice(0, count)).lanes.values()].map(({ name, state }) => `${name} ${state}`);
  const first = broken.findIndex(({ kind }) => kind === 'step');
  expect(states(first + 2)).toEqual(['A at', 'B idle', 'S idle']);
  expect(states(broken.length)).toEqual(['A answered', 'B answered', 'S idle']);
});
