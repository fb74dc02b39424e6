/** A room without a server: who may join, and what is counted. And the stream of a feed. */
import { Hono } from 'hono';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import type { StageEvent } from '../../src/lab/stage/events.ts';
import { eventStream, Feed } from '../../src/page/server/feed.ts';
import { Plays } from '../../src/page/server/plays.ts';
import { learnersMax, Room, Tally } from '../../src/page/server/room.ts';
import { someFolder } from '../support/basics.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const newRoom = () => {
  const plays = new Plays(someFolder());
  return { plays, room: new Room('127.0.0.2:17399', plays) };
};

test('the code is taken in small letters, and after ten wrong ones no code for a while', () => {
  const { room } = newRoom();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  room.check(` ${room.code.toLowerCase()} `);
  for (let count = 0; count < 10; count++)
    expect(() => room.check('WRONG')).toThrow(/not the code/);
  expect(() => room.check(room.code)).toThrow(/Too many wrong codes/);
  clock.mockReturnValue(10_000);
  room.check(room.code);
});

test('a learner who has gone for two minutes gives his place, and one who looks does not', () => {
  const { plays, room } = newRoom();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  for (let number = 1; number <= learnersMax; number++) room.join(`learner ${number}`);
  for (let number = 2; number <= learnersMax; number++)
    plays.feedOf(`learner ${number}`).listen(() => {});
  clock.mockReturnValue(119_999);
  expect(() => room.join('late')).toThrow(/30 learners are in the room/);
  clock.mockReturnValue(120_000);
  room.join('late');
  expect(room.has('learner 1')).toBe(false);
  expect(() => room.join('later')).toThrow(/30 learners are in the room/);
});

test('the first prediction of a learner counts, and each play once', () => {
  const tally = new Tally();
  tally.predict('one', 'redlock', 'two');
  tally.predict('one', 'redlock', 'none');
  tally.predict('other', 'redlock', 'A');
  const told = (event: object) =>
    tally.read({ number: 1, at: '0', player: 'p', ...event } as StageEvent);
  const orders = (value: string) => ({
    kind: 'readings',
    readings: [{ id: 'orders', of: '7', value }],
  });
  const broken = [{ check: 'one-order-per-user', evidence: '', orders: [] }];
  told({ kind: 'play', rung: 'redlock' });
  told(orders('1'));
  told({ kind: 'judged', broken: [], unknown: [], isFinal: false });
  told(orders('1 2'));
  told({ kind: 'judged', broken, unknown: [], isFinal: false });
  told({ kind: 'judged', broken, unknown: [], isFinal: true });
  expect(tally.all()).toEqual([
    { rung: 'redlock', predicted: { two: 1, A: 1 }, seen: { two: 1 }, broken: 1 },
  ]);
});

/** What the stream says first. */
async function firstText(feed: Feed, query: string, lastEventId?: string): Promise<string> {
  const app = new Hono().get('/', (c) => eventStream(c, feed, () => 'null'));
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const { body } = await app.request(`/?feed=${feed.place.feed}&${query}`, { headers });
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel());
  let text = '';
  while (!/^(id|event):/m.test(text)) text += new TextDecoder().decode((await reader.read()).value);
  return text;
}

function feedOf(count: number): Feed {
  const feed = new Feed();
  for (let index = 0; index < count; index++)
    feed.push({ kind: 'note', text: '', number: 0, at: '0' });
  return feed;
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id);

test('a stream begins behind the event that the page has', async () => {
  expect(idsIn(await firstText(feedOf(4), 'after=2'))).toEqual(['3', '4']);
});

test('a stream that comes back by itself begins behind its last event', async () => {
  expect(idsIn(await firstText(feedOf(4), 'after=0', '3'))).toEqual(['4']);
});

test('a stream whose events are gone says where the feed is now', async () => {
  expect(await firstText(feedOf(4), 'after=9')).toMatch(/event: gone\ndata: .*"last":4/);
});
