/** The way to the server: events come as a stream, commands go as requests. */
import { signal } from '@preact/signals';
import type { StageEvent } from '../../stage/events.ts';
import type { FeedPlace } from '../server/feed.ts';

export type Connection = 'entering' | 'open' | 'lost' | 'no-key' | 'recorded';
export const connection = signal<Connection>('entering');

/** The last command that was refused: its code, and a sentence in English. */
export interface Problem {
  readonly code: string;
  readonly title: string;
}
export const problem = signal<Problem | null>(null);
/** A command is under way. */
export const isBusy = signal(false);

const againAfterMs = 1_000;
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Tries until the lab answers. @returns null without a session */
export async function enter(): Promise<FeedPlace | null> {
  const key = /^#key=([\w.-]+)$/.exec(location.hash)?.[1];
  if (key !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    await send('POST', '/session', { key });
    problem.value = null; // A key that was used is no harm where a session is.
  }
  for (;;) {
    const answer = await fetch('/api/feed').catch(() => null);
    if (answer?.ok) return (await answer.json()) as FeedPlace;
    connection.value = answer ? 'no-key' : 'lost';
    if (answer) return null;
    await rest(againAfterMs);
  }
}

/** @returns null when it was refused: `problem` says why */
export async function send<Answer>(
  method: 'POST' | 'DELETE',
  path: string,
  body: object = {},
): Promise<Answer | null> {
  isBusy.value = true;
  try {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(path, { method, headers, body: JSON.stringify(body) });
    const data = (await answer.json()) as Answer & Problem;
    problem.value = answer.ok ? null : data;
    return answer.ok ? data : null;
  } catch {
    problem.value = { code: 'no-answer', title: 'The page’s server does not answer' };
    return null;
  } finally {
    isBusy.value = false;
  }
}

/**
 * One call for each event. A tab that nobody sees gives its connection back: a browser has six for
 * a server.
 * @param place behind the last event that the page has
 * @param gone the server has not kept the events behind it: the feed begins here now
 */
export function followEvents(
  place: () => FeedPlace,
  take: (event: StageEvent) => void,
  gone: (place: FeedPlace) => void,
): void {
  let source: EventSource | undefined;
  const open = () => {
    source?.close();
    const { feed, last } = place();
    source = new EventSource(`/api/events?feed=${feed}&after=${last}`);
    source.onmessage = ({ data }) => take(JSON.parse(data as string) as StageEvent);
    source.addEventListener('gone', ({ data }) => gone(JSON.parse(data as string) as FeedPlace));
    source.onopen = () => {
      connection.value = 'open';
    };
    source.onerror = () => {
      connection.value = 'lost';
      source?.close();
      if (!document.hidden) setTimeout(open, againAfterMs);
    };
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) source?.close();
    else open();
  });
  open();
}
