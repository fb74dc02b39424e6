/** The stream of a feed, without a browser. */
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { eventStream } from '../../src/page/server/play-routes.ts';
import { Feed } from '../../src/page/server/plays.ts';

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
