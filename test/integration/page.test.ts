/** The page in Chromium, on a real lab: what a viewer does by hand, and who is refused. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type ServerType, serve } from '@hono/node-server';
import type { RowDataPacket } from 'mysql2/promise';
import type { Browser, Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { playSettings } from '../../src/lab/choices/judged-play.ts';
import { asDatabaseRoot } from '../../src/lab/environment/database-root.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { alone } from '../../src/lab/environment/session.ts';
import { addressWithKey, useKey } from '../../src/lab/page/access.ts';
import { pageApp } from '../../src/lab/page/server/app.ts';
import { Feed } from '../../src/lab/page/server/feed.ts';
import { Plays } from '../../src/lab/page/server/plays.ts';
import { RoomDoor } from '../../src/lab/page/server/room-door.ts';
import { Runs } from '../../src/lab/page/server/runs.ts';
import { en } from '../../src/ladder/texts/en.ts';
import { choose, openTab, startBrowser, widerThanAPhone } from '../support/browser.ts';
import { someFolder } from '../support/folder.ts';
import { ownLab } from '../support/own-lab.ts';

const { folder } = ownLab;
/** A busy machine takes longer than a second. */
const patiently = { timeout: 10_000 };
let browser: Browser;
let port = 0;
let plays: Plays;
let runs: Runs;
let door: RoomDoor;
let server: ServerType;

const host = () => `lab-test.localhost:${port}`;

async function startPage(): Promise<void> {
  plays = new Plays(folder);
  runs = new Runs(folder, '', plays);
  door = new RoomDoor({ folder, port, plays });
  const app = pageApp({ folder, host: host(), plays, runs, door });
  server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' });
  await once(server, 'listening');
}

async function stopPage(): Promise<void> {
  await door.close();
  await Promise.all([plays.leave(), runs.stop()]);
  if ('closeAllConnections' in server) server.closeAllConnections();
  server.close();
}

beforeAll(async () => {
  port = await freePorts(19_300);
  browser = await startBrowser();
  await startPage();
});
afterAll(async () => {
  await browser.close();
  await stopPage();
});

const keyed = () => addressWithKey(folder, `http://${host()}`);

/** The page, at a path, with a session. */
async function openPage(path: string, more: Parameters<typeof openTab>[2] = {}): Promise<Page> {
  const address = new URL(await keyed());
  return openTab(browser, `${address.origin}${path}${address.hash}`, more);
}

async function predicted(path: string, outcome: 'one' | 'two' = 'one'): Promise<Page> {
  const tab = await openPage(path);
  await tab.locator(`[data-predict=${outcome}]`).click();
  await tab.locator('[data-still=true]').waitFor();
  return tab;
}

const textOf = (tab: Page, selector: string) => tab.locator(selector).first().textContent();

test('nothing is played before it is predicted; then the mutex sells one user two orders', async () => {
  const tab = await openPage('/race/mutex-per-user');
  await tab.locator('[data-predict=one]').waitFor();
  expect(await tab.locator('button[data-lane]').count()).toBe(0);
  await tab.locator('[data-predict=one]').click();
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
  await choose(tab, 'AABBAB');
  await tab.locator('[data-outcome=two]').waitFor();
  expect(await textOf(tab, '[data-outcome]')).toMatch(/predicted one order.*Seen 2 orders/);
  await tab.locator('[data-verdict=violated]').first().click();
  expect(await textOf(tab, '.proof')).toMatch(
    /user 7 has 2 orders.*each process has its own mutex/,
  );
  await tab.locator('[data-again]').click();
  await expect.poll(() => textOf(tab, '[data-counted]'), { timeout: 20_000 }).toMatch(/10 of 10/);
  expect(new URL(tab.url()).search).toBe('?do=AABBAB');
});

test.each(['en-US', 'zh-CN'])('on a phone no view scrolls sideways, in %s', async (language) => {
  const tab = await openPage('/ladder/2', { language });
  const wider: Record<string, number> = {};
  const views = ['/ladder/2', '/ladder/6', '/race/redlock', '/run/race/restart-empty', '/drills'];
  const runs = ['/run/drill/stop-masters', '/break?rung=redlock&load=100', '/scoreboard', '/room'];
  for (const path of [...views, ...runs, '/race/mutex-per-user?do=AABBAB']) {
    await tab.locator('[data-connection=open]').waitFor();
    await tab.goto(new URL(path, tab.url()).href);
    await tab.locator('[data-connection=open]').waitFor();
    wider[path] = await widerThanAPhone(tab);
  }
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[data-verdict=violated]').first().waitFor();
  wider['played'] = await widerThanAPhone(tab);
  await tab.locator('[data-verdict=violated]').first().click();
  wider['its proof'] = await widerThanAPhone(tab);
  expect(Object.entries(wider).filter(([, pixels]) => pixels > 0)).toEqual([]);
});

test('the proof has the commands of each choice, in the order of time', async () => {
  const tab = await predicted('/race/mutex-per-user?do=AABBAB');
  await tab.locator('[data-verdict=violated]').first().click();
  await tab.locator('[data-commands]').click();
  await tab.locator('.commands').waitFor();
  expect(await textOf(tab, '.commands')).toMatch(
    /A.*START TRANSACTION.*B.*START TRANSACTION.*A.*INSERT.*COMMIT.*B.*INSERT.*COMMIT/,
  );
});

test('back is a replay on a fresh voucher, and another choice there is a branch that stays', async () => {
  const tab = await predicted('/race/mutex-per-user?do=AABBAB');
  await tab.locator('[data-verdict=violated]').first().waitFor();
  for (const count of [5, 4, 3, 2]) {
    await tab.keyboard.press('Backspace');
    await expect.poll(() => tab.locator('button.step').count(), patiently).toBe(count);
    await tab.locator('[data-back]:not([disabled])').waitFor();
  }
  expect(await tab.locator('[data-verdict=violated]').count()).toBe(0);
  await choose(tab, 'AB');
  await choose(tab, 'B');
  expect(await textOf(tab, '[data-branch=AABBAB]')).toBe('AABBAB');
  await expect
    .poll(() => textOf(tab, '[data-let-off]'), { timeout: 20_000 })
    .toMatch(/12 of the 20/);
});

test('the same choices on the next rung hold, and the first difference is marked on both sides', async () => {
  const tab = await predicted('/race/mutex-per-user?do=AABBAB');
  await tab.locator('[data-verdict=violated]').first().waitFor();
  await tab.keyboard.press('n');
  await tab.locator('[data-rung=redis-no-expiry] [data-predict=A]').waitFor();
  await tab.keyboard.press('1');
  await tab.locator('[data-rung=redis-no-expiry] [data-verdict=held]').waitFor();
  expect(await textOf(tab, '[data-rung=redis-no-expiry] [data-outcome]')).toMatch(
    /one order, of A.*you were right/,
  );
  for (const rung of ['mutex-per-user', 'redis-no-expiry'])
    expect(await tab.locator(`[data-rung=${rung}] svg g.differs`).count()).toBe(1);
  expect(await textOf(tab, '[data-rung=redis-no-expiry] g.differs')).toMatch(/A has the lock/);
});

test('on the Redis lock B waits for A with its reason, and a killed A keeps the lock', async () => {
  const tab = await predicted('/race/redis-atomic?do=AAB');
  await expect
    .poll(() => textOf(tab, '[data-waits=B]'), patiently)
    .toMatch(/waits: A has the lock/);
  expect(await textOf(tab, '[data-reading=key]')).toMatch(/A has it.*\d+ s left/);
  await choose(tab, 'XA');
  await expect.poll(() => textOf(tab, '[data-waits=B]'), patiently).toMatch(/A, which is dead/);
  await tab.locator('[data-verdict=stuck]').first().waitFor();
  await choose(tab, 'B');
  expect(await textOf(tab, 'g[data-kind=stuck]')).toMatch(/waits for A/);
  await tab.locator('[data-fault=EA]').click();
  await tab.locator('button[data-lane=B]:not([disabled])').waitFor();
});

test('a famous race is a link on the ladder: a late release lets a third request in', async () => {
  const tab = await openPage('/ladder/3');
  await tab.locator('[data-rung=redis-expiry]').click();
  await tab.locator('[data-race=release-after-expiry]').click();
  expect(new URL(tab.url()).search).toBe('?do=AAEABACBCBC&lanes=3');
  await tab.locator('[data-predict=two]').click();
  await tab.locator('[data-outcome=two]').waitFor();
  expect(await textOf(tab, 'g[data-kind=fault]')).toMatch(/its lease ends/);
  expect(await textOf(tab, '[data-verdict=violated]')).toMatch(/never two orders for one user/);
});

test('faults are buttons and letters: a paused buyer cannot go, a stopped master is no quorum', async () => {
  const tab = await predicted('/race/redlock?do=AA');
  await tab.locator('[data-fault=PA]').click();
  await tab.locator('[data-fault=RA]:not([disabled])').waitFor();
  await choose(tab, 'A');
  expect(await textOf(tab, 'g[data-kind=stuck]')).toMatch(/stands still/);
  await choose(tab, 'RA');
  await choose(tab, 'S1S2');
  await tab.locator('[data-fault=H1]').waitFor();
  expect(await textOf(tab, 'aside .state')).toMatch(
    /no answer.*no answer.*1 of 3 masters, 2 needed: not enough/s,
  );
  await choose(tab, 'H1H2');
  await tab.locator('[data-fault=S1]').waitFor();
});

test('the order worker is a lane: killed with an order in hand it loses it, or gets it again', async () => {
  const tab = await predicted('/race/redis-list');
  await choose(tab, 'AA');
  await tab.locator('button[data-lane=W]:not([disabled])').waitFor();
  expect(await textOf(tab, '[data-reading=on-its-way]')).toMatch(/order …\d{4}/);
  await choose(tab, 'XWB');
  const list = tab.locator('[data-verdict=violated]').first();
  expect(await list.textContent()).toMatch(/every accepted order exists/);
  await list.click();
  expect(await textOf(tab, '.proof')).toContain(en.reasons['popped-and-lost']);
  await tab.keyboard.press('Escape');
  await tab.keyboard.press('n');
  await tab.locator('[data-rung=redis-list-reliable] [data-predict=B]').click();
  const reliable = tab.locator('[data-rung=redis-list-reliable]');
  await reliable.locator('g[data-lane=B]').waitFor();
  const taken = reliable.locator('g[data-lane=W][data-kind=at]');
  await expect.poll(() => taken.allTextContents(), patiently).toHaveLength(2);
});

test('the reason in the proof is that of what was done: nobody listened, or it was heard', async () => {
  for (const [choices, reason] of [
    ['SWAAHWB', 'nobody-listened'],
    ['AAXWB', 'heard-and-lost'],
  ] as const) {
    const tab = await predicted(`/race/redis-pubsub?do=${choices}`);
    await tab.locator('[data-verdict=violated]').first().click();
    expect(await textOf(tab, '.proof')).toContain(en.reasons[reason]);
  }
});

test('a worker that stands in one tab is not for another; there its order is settled', async () => {
  const one = await predicted('/race/redis-list?do=AA');
  await one.locator('button[data-lane=W]:not([disabled])').waitFor();
  const two = await one.context().newPage();
  await two.goto(`${new URL(one.url()).origin}/race/lua-stream`);
  await two.locator('[data-predict=one]').click();
  await two.locator('[data-problem=WORKER_HELD]').waitFor();
  await choose(one, 'WWB');
  await one.locator('[data-verdict=held]').first().waitFor();
  expect(await textOf(one, 'g[data-kind=free]')).toMatch(/has settled it/);
  await two.locator('[data-retry]').click();
  await two.locator('button[data-lane=A]:not([disabled])').waitFor();
});

test('a buyer whose answer is lost may ask again, and has one order', async () => {
  const tab = await predicted('/race/lua-stream?do=UAA');
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
  expect(await textOf(tab, 'g[data-kind=answered]')).toMatch(/gets no answer: it is lost/);
  expect(await textOf(tab, 'button[data-lane=A]')).toMatch(/asks again, with the same key/);
  await choose(tab, 'AWWB');
  await tab.locator('[data-verdict=held]').first().waitFor();
  expect(await textOf(tab, '[data-reading=orders]')).toMatch(/order …\d{4}/);
});

test('the keyboard is enough, from the ladder to a violation', async () => {
  const tab = await openPage('/ladder/2');
  await tab.locator('[data-rung=check-then-insert]').waitFor();
  const claims = () => tab.locator('.rungs').textContent();
  expect(await claims()).not.toMatch(/\d of \d/); // It is to be predicted first.
  await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('ArrowUp');
  await tab.keyboard.press('Enter');
  await tab.locator('[data-predict=two]').waitFor();
  await tab.keyboard.press('2');
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
  await choose(tab, 'ABAB');
  await tab.locator('[data-verdict=violated]').first().waitFor();
  await tab.getByRole('link', { name: 'Ladder' }).click();
  expect(await claims()).toMatch(/\d of \d/);
});

test('keys that come faster than the steps are played in their order, and no other key is', async () => {
  const tab = await predicted('/race/mutex-per-user');
  for (const key of 'AADBS2BAB') await tab.keyboard.press(key);
  await tab.locator('[data-outcome=two]').waitFor();
  const lanes = tab.locator('.lanes'); // Six steps fit it.
  expect(await lanes.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);
  expect(new URL(tab.url()).search).toBe('?do=AABBAB');
});

test.each(['en-US', 'zh-CN'])('a race that is over fits a projector, in %s', async (language) => {
  const tab = await openPage('/race/mutex-per-user?do=AABBAB', { language });
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[data-outcome=two]').waitFor();
  const beyond = await tab.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return { width: scrollWidth - innerWidth, height: scrollHeight - innerHeight };
  });
  expect(beyond).toEqual({ width: 0, height: 0 });
});

test('the language changes without a reload', async () => {
  const tab = await predicted('/race/redis-atomic?do=AAB');
  await tab.locator('g[data-kind=waits]').waitFor();
  await tab.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  await tab.locator('[data-language]').click();
  expect(await textOf(tab, 'g[data-kind=waits]')).toMatch(/等待：锁在 A 手中/);
  expect(await tab.evaluate(() => document.documentElement.lang)).toBe('zh');
  expect(await tab.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
  await tab.reload();
  await tab.locator('[data-connection=open]').waitFor();
  expect(await tab.evaluate(() => document.documentElement.lang)).toBe('zh');
});

test('an exported file replays from the disk without a network, at any event', async () => {
  const tab = await predicted('/race/mutex-per-user?do=AABBAB');
  await tab.locator('[data-outcome=two]').waitFor();
  const [download] = await Promise.all([
    tab.waitForEvent('download'),
    tab.locator('[data-export]').click(),
  ]);
  const file = join(someFolder(), download.suggestedFilename());
  writeFileSync(file, readFileSync(await download.path(), 'utf8'));
  const replay = await openTab(browser, `file://${file}`, { isOffline: true });
  await replay.locator('[data-verdict=violated]').first().waitFor();
  expect(await replay.locator('g[data-kind=answered]').count()).toBe(2);
  await replay.locator('.cursor input').fill('12');
  expect(await replay.locator('g[data-kind=answered]').count()).toBe(0);
  expect(await replay.locator('[data-verdict=violated]').count()).toBe(0);
});

test('what is predicted before the page has its session is played once it has it', async () => {
  const tab = await (await browser.newContext()).newPage();
  onTestFinished(() => tab.context().close());
  const refused: string[] = [];
  tab.on('response', (answer) => void (answer.status() >= 400 && refused.push(answer.url())));
  let enter = () => {};
  await tab.route('**/session', (route) => {
    enter = () => void route.continue();
  });
  const address = new URL(await keyed());
  await tab.goto(`${address.origin}/race/redis-atomic${address.hash}`, { waitUntil: 'commit' });
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[role=status]').nth(1).waitFor(); // It waits, and asks for nothing.
  enter();
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
  expect(refused).toEqual([]);
});

test('when the server ends the page says so, and plays again when it is back', async () => {
  const tab = await openPage('/race/redis-atomic', { mayFail: true });
  await tab.locator('[data-predict=one]').click();
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
  await stopPage();
  await tab.locator('[data-connection=lost]').waitFor();
  await startPage();
  await tab.locator('[data-connection=open]').waitFor();
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor({ timeout: 20_000 });
  await choose(tab, 'A');
});

test('while a command has the lab, the page says so and plays nothing', async () => {
  const tab = await openPage('/race/redis-atomic', { mayFail: true });
  await plays.leave();
  await alone(folder, async () => {
    await tab.locator('[data-predict=one]').click();
    await tab.locator('[data-problem=LAB_BUSY]').waitFor();
  });
  await tab.locator('[data-retry]').click();
  await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
});

test('a key is used once; another host, another origin and no cookie are refused', async () => {
  const key = new URL(await keyed()).hash.slice('#key='.length);
  const url = `http://127.0.0.1:${port}`;
  const ask = async (path: string, headers: Record<string, string>, body?: object) => {
    const method = body ? 'POST' : 'GET';
    const sent = { 'content-type': 'application/json', ...headers };
    const answer = await request(url + path, {
      ...{ method, headers: sent },
      ...(body && { body: JSON.stringify(body) }),
    });
    await answer.body.dump();
    return answer;
  };
  const own = { host: host(), origin: `http://${host()}` };
  const statusOf = async (...args: Parameters<typeof ask>) => (await ask(...args)).statusCode;
  expect(await statusOf('/session', { ...own, origin: `http://127.0.0.1:${port}` }, { key })).toBe(
    403,
  );
  expect(await statusOf('/session', { host: host() }, { key })).toBe(403);
  expect(await statusOf('/session', { ...own, host: `127.0.0.1:${port}` }, { key })).toBe(421);
  const first = await ask('/session', own, { key });
  expect(first.statusCode).toBe(201);
  expect(await statusOf('/session', own, { key })).toBe(403);
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? '';
  expect(String(first.headers['set-cookie'])).toMatch(/HttpOnly.*SameSite=Strict/);
  expect(await statusOf('/api/feed', { host: host() })).toBe(401);
  expect(await statusOf('/api/feed', { host: host(), cookie })).toBe(200);
  const site = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' };
  expect(await statusOf('/api/feed', { host: host(), cookie, ...site })).toBe(403);
  const slot = 'test main';
  expect(await statusOf('/api/plays', { ...own, cookie }, { rung: 'no-rung', slot })).toBe(400);
  expect(
    await statusOf('/api/plays', { ...own, cookie }, { rung: 'lua-stream', slot, choices: 'PW' }),
  ).toBe(400);
});

test('another port of this host has the cookie, and can start and read nothing', async () => {
  const tab = await predicted('/race/redis-atomic');
  const stranger = createServer((_, answer) => answer.end('another page')).listen(0, '127.0.0.1');
  onTestFinished(() => void stranger.close());
  await once(stranger, 'listening');
  const other = await tab.context().newPage();
  const [name] = host().split(':');
  await other.goto(`http://${name}:${(stranger.address() as AddressInfo).port}/`);
  const statuses: number[] = [];
  other.on(
    'response',
    (answer) => answer.url().includes('/api/') && statuses.push(answer.status()),
  );
  await other.evaluate(async (origin) => {
    const body = JSON.stringify({ rung: 'redis-atomic', slot: 'stranger main' });
    const sent = { mode: 'no-cors', credentials: 'include' } as const;
    await fetch(`${origin}/api/plays`, { ...sent, method: 'POST', body });
    await fetch(`${origin}/api/feed`, sent);
  }, `http://${host()}`);
  expect(statuses).toEqual([403, 403]);
  await choose(tab, 'A'); // Nobody has ended its play.
});

test('a feed gives a page that comes back what it missed, or says that it is gone', () => {
  const feed = new Feed();
  const event = { kind: 'note', text: '', number: 0, at: '0' } as const;
  for (let count = 0; count < 50_000; count++) feed.push(event);
  const { feed: name } = feed.place;
  const after = (last: number) => feed.after({ feed: name, last });
  expect(after(49_998)?.map(({ number }) => number)).toEqual([49_999, 50_000]);
  expect(after(50_000)).toEqual([]);
  for (const last of [50_001, 1]) expect(after(last)).toBeNull();
  expect(feed.after({ feed: 'of a server before', last: 50_000 })).toBeNull();
});

/** The instructor opens it at an address that only this machine has. */
async function openRoom(): Promise<{ readonly tab: Page; readonly code: string }> {
  const tab = await openPage('/room');
  await tab.locator('input[name=address]').fill('127.0.0.2');
  await tab.locator('[data-open-room]').click();
  return { tab, code: (await tab.locator('[data-code]').textContent()) ?? '' };
}

const roomAddress = () => `http://127.0.0.2:${port}`;

test('learners of a room play at once on vouchers of their own, and hit no server', async () => {
  const { tab: instructor, code } = await openRoom();
  const mayFail = { mayFail: true }; // Refused codes, and a room that closes, are errors there.
  const strangers = await openTab(browser, roomAddress(), mayFail);
  await strangers.locator('input[name=code]').fill('WRONG2');
  await strangers.locator('[data-join]').click();
  await strangers.locator('[data-problem=WRONG_CODE]').waitFor();
  const join = () => openTab(browser, `${roomAddress()}/#join=${code}`, mayFail);
  const learners = await Promise.all([join(), join()]);
  await instructor.locator('[data-here="2"]').waitFor();
  await instructor.locator('[data-bring]').selectOption('mutex-per-user');
  await Promise.all(
    learners.map(async (tab) => {
      await tab.locator('[data-room-at=mutex-per-user] [data-go-there]').click();
      await tab.locator('[data-predict=one]').click();
      await tab.locator('button[data-lane=A]:not([disabled])').waitFor();
      expect(await tab.locator('[data-fault^=X]').count()).toBe(0);
      await choose(tab, 'AABBAB');
      await tab.locator('[data-outcome=two]').waitFor();
    }),
  );
  const tally = instructor.locator('[data-tally=mutex-per-user]');
  await tally.locator('[data-broke="2"]').waitFor();
  expect(await tally.locator('[data-outcome=one] [data-count="predicted 2"]').count()).toBe(1);
  expect(await tally.locator('[data-outcome=two] [data-count="seen 2"]').count()).toBe(1);
  await instructor.locator('[data-close-room]').click();
  await learners[0]?.getByText('The room is closed.').waitFor();
  await expect(request(roomAddress())).rejects.toThrow('ECONNREFUSED');
});

test('Enter in the code joins and no letter of it is a shortcut; closed doors are told, and named', async () => {
  const { tab: instructor, code } = await openRoom();
  const learner = await openTab(browser, roomAddress(), { mayFail: true });
  const links = () => learner.locator('header nav a').count();
  const field = learner.locator('input[name=code]');
  await field.waitFor();
  expect(await links()).toBe(2); // The ladder and the workshop.
  await field.pressSequentially(code);
  await field.press('Enter');
  await learner.locator('[data-rung=check-then-insert]').waitFor();
  expect([new URL(learner.url()).pathname, await links()]).toEqual(['/', 2]);
  for (const path of ['/break', '/drills', '/scoreboard', '/room', '/run/drill/kill-storm']) {
    await learner.goto(`${roomAddress()}${path}`);
    await learner.getByText('This page is for the instructor.').waitFor();
  }
  const answer = await learner.goto(`${roomAddress()}/nowhere`);
  expect(answer?.status()).toBe(404);
  await learner.getByText('Nothing here has the address /nowhere.').waitFor();
  await learner.locator('[data-language]').click();
  await learner.getByText('这里没有 /nowhere 这个地址。').waitFor();
  await learner.locator('[data-to-ladder]').click();
  await learner.locator('[data-rung=check-then-insert]').waitFor();
  await instructor.locator('[data-close-room]').click();
  await learner.locator('[data-closed]').waitFor();
  expect(await learner.locator('header nav, [data-connection]').count()).toBe(0);
  await instructor.locator('[data-open-room]').click();
  await field.waitFor(patiently); // It asks for the new code.
  await instructor.locator('[data-close-room]').click();
  await instructor.locator('[data-open-room]').waitFor();
});

/** @returns what a learner asks with his own cookie */
async function joined(code: string) {
  const headers = { origin: roomAddress(), 'content-type': 'application/json' };
  const join = await request(`${roomAddress()}/join`, {
    ...{ method: 'POST', headers, body: JSON.stringify({ code }) },
  });
  await join.body.dump();
  const cookie = String(join.headers['set-cookie']).split(';')[0] ?? '';
  const ask = async (method: 'POST' | 'DELETE', path: string, body: object = {}) => {
    const answer = await request(`${roomAddress()}${path}`, {
      ...{ method, headers: { ...headers, cookie }, body: JSON.stringify(body) },
    });
    return {
      status: answer.statusCode,
      ...((await answer.body.json().catch(() => ({}))) as object),
    };
  };
  return { status: join.statusCode, cookie, ask };
}

/** What the page of the instructor answers to this session. */
async function instructorsAnswer(session: string): Promise<number> {
  const cookie = `lockstep-${host().replaceAll(/\W/g, '-')}=${session}`;
  const answer = await request(`http://127.0.0.1:${port}/api/feed`, {
    headers: { host: host(), cookie },
  });
  await answer.body.dump();
  return answer.statusCode;
}

test('a learner cannot stop a server, and the 31st is refused', async () => {
  const { tab, code } = await openRoom();
  const { ask } = await joined(code);
  const play = { rung: 'redlock', slot: 'a main', choices: 'A' };
  const begun = (await ask('POST', '/api/plays', play)) as { status: number; player: string };
  expect(begun.status).toBe(201);
  const choices = `/api/plays/${begun.player}/choices`;
  for (const choice of ['S2', 'XA', 'PA', 'SW'])
    expect(await ask('POST', choices, { choice })).toMatchObject({ code: 'INSTRUCTORS_ALONE' });
  expect(await ask('POST', '/api/plays', { ...play, choices: 'S2' })).toMatchObject({
    status: 403,
  });
  expect(await ask('POST', '/api/plays', { ...play, rung: 'lua-stream' })).toMatchObject({
    code: 'INSTRUCTORS_ALONE',
  });
  const instructors = ['/api/faults', '/api/runs', '/api/again', '/api/room', '/session'];
  for (const path of instructors) expect(await ask('POST', path)).toMatchObject({ status: 404 });
  for (const path of ['/api/plays', '/api/room'])
    expect(await ask('DELETE', path)).toMatchObject({ status: 404 });
  expect(await ask('POST', choices, { choice: 'A' })).toMatchObject({ status: 200 });

  for (let count = 2; count <= 30; count++)
    expect(await joined(code)).toMatchObject({ status: 201 });
  expect(await joined(code)).toMatchObject({ status: 409 });
  await tab.locator('[data-close-room]').click();
  await tab.locator('[data-open-room]').waitFor();
});

test('the cookie of a learner opens his room alone, and only as long as it is open', async () => {
  const { tab, code } = await openRoom();
  const { ask, cookie } = await joined(code);
  const play = { rung: 'redis-atomic', slot: 'a main' };
  expect(await ask('POST', '/api/plays', play)).toMatchObject({ status: 201 });
  const key = new URL(await keyed()).hash.slice('#key='.length);
  const session = await useKey(folder, key);
  expect(await instructorsAnswer(session ?? '')).toBe(200);
  expect(await instructorsAnswer(cookie.split('=')[1] ?? '')).toBe(401);
  await tab.locator('[data-close-room]').click();
  await tab.locator('[data-open-room]').click();
  await tab.locator('[data-code]').waitFor();
  expect(await ask('POST', '/api/plays', play)).toMatchObject({ code: 'join-first' });
  await tab.locator('[data-close-room]').click();
  await tab.locator('[data-open-room]').waitFor();
});

test('two tabs of one browser play side by side, and neither ends the play of the other', async () => {
  const one = await predicted('/race/redis-atomic?do=A');
  const two = await one.context().newPage();
  await two.goto(`http://${host()}/race/row-lock?do=A`);
  await two.locator('[data-predict=one]').click();
  await two.locator('[data-still=true]').waitFor();
  await choose(two, 'B');
  await two.locator('[data-waits=B]').waitFor();
  await choose(one, 'AB');
  expect(await textOf(one, '[data-waits=B]')).toMatch(/A has the lock/);
  expect(await textOf(two, '[data-waits=B]')).toMatch(/transaction of A/);
});

test('stops at every checkpoint are played again with the same stops', async () => {
  const tab = await predicted('/race/redis-expiry?do=AAAAEABBBAAABBBB&fine=1', 'two');
  await tab.locator('[data-verdict=violated]').first().click();
  await tab.locator('[data-again]').click();
  await expect.poll(() => textOf(tab, '[data-counted]'), { timeout: 30_000 }).toMatch(/10 of 10/);
});

test('a play that was given back says so, and the lab is as it was before', async () => {
  const tab = await predicted('/race/redis-atomic?do=A');
  await plays.leave();
  await tab.locator('[data-retry]').waitFor();
  expect(await textOf(tab, 'main')).toMatch(/This play is over/);
  const lab = Lab.running(folder);
  expect(lab?.shape.settings ?? {}).not.toMatchObject(playSettings);
  const waitSeconds = await asDatabaseRoot(lab?.dataFolder(lab.database) ?? '', async (root) => {
    const [rows] = await root.query<RowDataPacket[]>(
      'SELECT @@GLOBAL.innodb_lock_wait_timeout AS s',
    );
    return Number(rows[0]?.['s']);
  });
  expect(waitSeconds).toBe(5);
});
