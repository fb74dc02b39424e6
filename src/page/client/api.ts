/** The way to the server: who the viewer is, and his commands. */

import { signal } from '@preact/signals';
import type { FeedPlace } from '../server/feed.ts';
import type { RoomNow } from '../server/room.ts';

export type Connection = 'entering' | 'open' | 'lost' | 'no-key' | 'no-code' | 'recorded';
export const connection = signal<Connection>('entering');

/** The last command that was refused: its code, and a sentence in English. */
export interface Problem {
  readonly code: string;
  readonly title: string;
}
export const problem = signal<Problem | null>(null);
/** The room that is open; null: it is closed; undefined: not told yet. */
export const room = signal<RoomNow | null | undefined>(undefined);
/** Of the room: he has the plays alone, without what would hit those of others. */
export const isLearner = signal(false);

/** The page had the lab when this tab was opened: somebody plays, or has played. */
export const hadLab = signal(false);

/** A command is under way. */
export const isBusy = signal(false);

export const againAfterMs = 1_000;
const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface LabEntry extends FeedPlace {
  readonly isLearner?: boolean;
  readonly hasLab?: boolean;
}

/** Tries until the lab answers. @returns null without a session */
export async function enter(): Promise<FeedPlace | null> {
  await useHash();
  for (;;) {
    const answer = await fetch('/api/feed').catch(() => null);
    const body = (await answer?.json().catch(() => ({}))) as Partial<LabEntry & Problem>;
    if (answer?.ok) {
      isLearner.value = body.isLearner ?? false;
      hadLab.value = body.hasLab ?? false;
      return body as FeedPlace;
    }
    if (answer?.status === 401) {
      isLearner.value = body.code === 'join-first';
      connection.value = isLearner.value ? 'no-code' : 'no-key';
      return null;
    }
    connection.value = 'lost';
    await rest(againAfterMs);
  }
}

/** A key, or the code of a room: no server and no log sees this part of the address. */
async function useHash(): Promise<void> {
  const [, what, secret] = /^#(key|join)=([\w.-]+)$/.exec(location.hash) ?? [];
  if (what === undefined || secret === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  if (what === 'join') await send('POST', '/join', { code: secret });
  else await send('POST', '/session', { key: secret });
  if (what === 'key') problem.value = null; // A key that was used is no harm where a session is.
}

export async function joinRoom(code: string): Promise<void> {
  if ((await send('POST', '/join', { code })) !== null) location.reload();
}

/** What a learner predicts is counted, without his name. */
export async function tellPrediction(rung: string, outcome: string): Promise<void> {
  if (isLearner.value) await askQuietly('/api/predictions', { rung, outcome });
}

/** Beside what the viewer does: it blocks no key, and a refusal is not his problem. */
export async function askQuietly<Answer>(path: string, body: object): Promise<Answer | null> {
  const answer = await request('POST', path, body).catch(() => null);
  return answer?.ok ? ((await answer.json()) as Answer) : null;
}

function request(method: 'POST' | 'DELETE', path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(path, { method, headers, body: JSON.stringify(body) });
}

/** @returns null when it was refused: `problem` says why */
export async function send<Answer>(
  method: 'POST' | 'DELETE',
  path: string,
  body: object = {},
): Promise<Answer | null> {
  isBusy.value = true;
  try {
    const answer = await request(method, path, body);
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
