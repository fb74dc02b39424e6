/**
 * Who may use the page. A key in the fragment of its address, which no server and no log sees, is
 * exchanged once for a cookie. Both are signed with a secret in the folder of the lab: so a command
 * can make a key without the page, and a session outlives a restart of the page.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sign, verify } from 'hono/jwt';
import type { Lab } from '../lab/environment/lab.ts';
import { pageName } from '../lab/environment/stores.ts';

const keyLastsSeconds = 12 * 3_600;
const sessionLastsSeconds = 7 * 86_400;

const secretFile = (folder: string): string => join(folder, 'page-secret');
const usedFile = (folder: string): string => join(folder, 'page-keys-used');

/** Made at its first use. */
function secretOf(folder: string): string {
  const file = secretFile(folder);
  if (!existsSync(file))
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'ax' });
  return readFileSync(file, 'utf8');
}

type Purpose = 'key' | 'session';

export interface Viewer {
  readonly id: string;
  /** Of a learner: the opening of the room that he has joined. */
  readonly room?: string;
}

const made = (
  folder: string,
  purpose: Purpose,
  lastsSeconds: number,
  viewer: Viewer = { id: randomUUID() },
): Promise<string> => {
  const { id: jti, ...more } = viewer;
  const exp = Math.floor(Date.now() / 1_000) + lastsSeconds;
  return sign({ purpose, ...more, jti, exp }, secretOf(folder));
};

/** @returns who has a token of this purpose that is valid; else null */
async function viewerOf(folder: string, purpose: Purpose, token: string): Promise<Viewer | null> {
  const payload = await verify(token, secretOf(folder), 'HS256').catch(() => null);
  const { jti: id, room } = payload ?? {};
  if (payload?.['purpose'] !== purpose || typeof id !== 'string') return null;
  return typeof room === 'string' ? { id, room } : { id };
}

/** The address with a key that opens the page once, within twelve hours. */
export const addressWithKey = async (folder: string, url: string): Promise<string> =>
  `${url}/#key=${await made(folder, 'key', keyLastsSeconds)}`;

/** Starts the page, unless it runs. @returns its address, with a key that opens it once */
export async function openPage(lab: Lab): Promise<string> {
  await lab.provide([pageName]);
  await lab.server(pageName).start(); // It may have ended.
  return addressWithKey(lab.folder, lab.pageUrl);
}

/** @returns the cookie of a new session; null when the key was used, or was never given */
export async function useKey(folder: string, key: string): Promise<string | null> {
  const { id = null } = (await viewerOf(folder, 'key', key)) ?? {};
  const used = existsSync(usedFile(folder)) ? readFileSync(usedFile(folder), 'utf8') : '';
  if (id === null || used.includes(id)) return null;
  appendFileSync(usedFile(folder), `${id}\n`);
  return made(folder, 'session', sessionLastsSeconds);
}

/** @returns the cookie of a learner, who may play as long as his room is open */
export const learnerSession = (folder: string, learner: Required<Viewer>): Promise<string> =>
  made(folder, 'session', sessionLastsSeconds, learner);

/** @returns null without a valid session */
export const viewerIn = (folder: string, cookie: string): Promise<Viewer | null> =>
  viewerOf(folder, 'session', cookie);
