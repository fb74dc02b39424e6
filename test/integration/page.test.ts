/** The page in Chromium, on a real lab: what a viewer does by hand, and who is refused. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2/promise';
import type { Page } from 'playwright-core';
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { asDatabaseRoot } from '../../src/lab/environment/database-root.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { alone } from '../../src/lab/environment/session.ts';
import { playSettings } from '../../src/lab/play/judged-play.ts';
import { useKey } from '../../src/page/access.ts';
import { Feed } from '../../src/page/server/feed.ts';
import { en } from '../../src/texts/en.ts';
import { someFolder } from '../support/basics.ts';
import { ownLab } from '../support/own-lab.ts';
import {
  ask,
  beyondTheProjector,
  choose,
  livePage,
  openTab,
  textOf,
  widerThanAPhone,
} from '../support/page.ts';

const { folder } = ownLab;
const page = livePage(19_300);
const mayFail = { mayFail: true };

async function predicted(path: string): Promise<Page> {
  const tab = await page.open(path);
  await predict(tab);
  return tab;
}

async function predict(tab: Page): Promise<void> {
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[data-still=true]').waitFor();
}

const canGo = (tab: Page, lane: string) =>
  tab.locator(`button[data-lane=${lane}]:not([disabled])`).waitFor();
/** Until the first of them says so. */
const says = (tab: Page, selector: string, hasText: RegExp) =>
  tab.locator(selector, { hasText }).first().waitFor();
const languageOf = (tab: Page) => tab.evaluate(() => document.documentElement.lang);

describe('a race on the mutex of each process, played once', () => {
  let tab: Page;
  let lanesBefore = -1;

  beforeAll(async () => {
    let close = async () => {};
    const atEnd = (end: () => Promise<void>) => {
      close = end;
    };
    tab = await page.open('/race/mutex-per-user', { atEnd });
    await tab.locator('[data-predict=one]').waitFor();
    lanesBefore = await tab.locator('button[data-lane]').count();
    await predict(tab);
    for (const key of 'AADBS2BAB') await tab.keyboard.press(key);
    await tab.locator('[data-outcome=two]').waitFor();
    return close;
  });

  test('nothing is played before it is predicted; then it sells one user two orders', async () => {
    expect(lanesBefore).toBe(0);
    expect(await textOf(tab, '[data-outcome]')).toMatch(/predicted one order.*Seen 2 orders/);
  });

  test('keys that come faster than the steps are played in their order, and no other is', () => {
    expect(new URL(tab.url()).search).toBe('?do=AABBAB');
  });

  test('in both languages it fits a projector and, with its proof, a phone', async () => {
    await tab.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
    for (const [language, first, evidence] of [
      ['en', 'has the lock', 'user 7 has 2 orders'],
      ['zh', '得到锁', '用户 7 有 2 个订单'],
    ] as const) {
      expect(await languageOf(tab)).toBe(language);
      expect(await beyondTheProjector(tab), language).toEqual([0, 0]);
      await says(tab, 'g[data-kind=at]', new RegExp(first));
      const lanes = tab.locator('.lanes'); // Six steps fit it.
      expect(await lanes.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);
      expect(await widerThanAPhone(tab), language).toBe(0);
      await tab.locator('[data-verdict=violated]').first().click();
      expect(await textOf(tab, '.proof')).toContain(evidence);
      expect(await widerThanAPhone(tab), language).toBe(0);
      await tab.keyboard.press('Escape');
      await tab.locator('[data-language]').click();
    }
    await beyondTheProjector(tab);
    expect(await tab.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
  });

  test('its proof has the reason and the commands in the order of time, and comes again', async () => {
    await tab.locator('[data-verdict=violated]').first().click();
    expect(await textOf(tab, '.proof')).toMatch(
      /user 7 has 2 orders.*each process has its own mutex/,
    );
    await tab.locator('[data-commands]').click();
    await says(
      tab,
      '.commands',
      /A.*START TRANSACTION.*B.*START TRANSACTION.*A.*INSERT.*COMMIT.*B.*INSERT.*COMMIT/,
    );
    await tab.locator('[data-again]').click();
    await says(tab, '[data-counted]', /10 of 10/);
    await tab.keyboard.press('Escape');
  });

  test('its exported file replays from the disk without a network, at any event', async () => {
    const [download] = await Promise.all([
      tab.waitForEvent('download'),
      tab.locator('[data-export]').click(),
    ]);
    const file = join(someFolder(), download.suggestedFilename());
    writeFileSync(file, readFileSync(await download.path(), 'utf8'));
    const replay = await openTab(page.browser, `file://${file}`, { isOffline: true });
    await replay.locator('[data-verdict=violated]').first().waitFor();
    expect(await replay.locator('g[data-kind=answered]').count()).toBe(2);
    await replay.locator('.cursor input').fill('12');
    expect(await replay.locator('g[data-kind=answered]').count()).toBe(0);
    expect(await replay.locator('[data-verdict=violated]').count()).toBe(0);
  });

  test('the same choices on the next rung hold, and the first difference is marked on both sides', async () => {
    await tab.keyboard.press('n');
    await tab.locator('[data-rung=redis-no-expiry] [data-predict=A]').waitFor();
    await tab.keyboard.press('1');
    await tab.locator('[data-rung=redis-no-expiry] [data-verdict=held]').waitFor();
    expect(await textOf(tab, '[data-rung=redis-no-expiry] [data-outcome]')).toMatch(
      /one order, of A.*you were right/,
    );
    await says(tab, '[data-rung=mutex-per-user] [data-all-orders]', /12 of the 20/);
    await says(tab, '[data-rung=redis-no-expiry] [data-all-orders]', /0 of the 6/);
    for (const rung of ['mutex-per-user', 'redis-no-expiry'])
      expect(await tab.locator(`[data-rung=${rung}] svg g.differs`).count()).toBe(1);
    expect(await textOf(tab, '[data-rung=redis-no-expiry] g.differs')).toMatch(/A has the lock/);
  });
});

test('the keyboard is enough, from the ladder to a violation, and back to another branch', async () => {
  const tab = await page.open('/ladder/2');
  await tab.locator('[data-rung=check-then-insert]').waitFor();
  const claims = () => tab.locator('.rungs').textContent();
  expect(await claims()).not.toMatch(/\d of \d/); // It is to be predicted first.
  for (const key of ['ArrowDown', 'ArrowUp', 'Enter']) await tab.keyboard.press(key);
  await tab.locator('[data-predict=two]').waitFor();
  await tab.keyboard.press('2');
  await canGo(tab, 'A');
  await choose(tab, 'ABAB');
  await tab.locator('[data-verdict=violated]').first().waitFor();
  for (const count of [3, 2, 1]) {
    await tab.keyboard.press('Backspace'); // A replay, on a fresh voucher.
    await tab.locator('button.step').nth(count).waitFor({ state: 'detached' });
    await tab.locator('[data-back]:not([disabled])').waitFor();
  }
  expect(await tab.locator('[data-verdict=violated]').count()).toBe(0);
  await choose(tab, 'AB');
  expect(await textOf(tab, '[data-branch=ABAB]')).toBe('ABAB');
  await says(tab, '[data-all-orders]', /4 of the 6/);
  await tab.getByRole('link', { name: 'Ladder' }).click();
  expect(await claims()).toMatch(/\d of \d/);
});

test('on a phone no view scrolls sideways, in both languages; the chosen one is kept', async () => {
  const tab = await page.open('/ladder/2', { language: 'zh-CN' });
  expect(await languageOf(tab)).toBe('zh');
  const wider: Record<string, number> = {};
  const views = ['/ladder/2', '/ladder/6', '/race/redlock', '/run/race/restart-empty', '/drills'];
  const runs = ['/run/drill/stop-masters', '/break?rung=redlock&load=100', '/scoreboard', '/room'];
  for (const path of [...views, ...runs, '/race/mutex-per-user?do=AABBAB']) {
    const kept = await languageOf(tab);
    await tab.goto(`http://${page.host}${path}`);
    await tab.locator('[data-connection=open]').waitFor();
    expect(await languageOf(tab)).toBe(kept);
    wider[`${path} ${kept}`] = await widerThanAPhone(tab);
    await tab.locator('[data-language]').click();
    wider[path] = await widerThanAPhone(tab);
  }
  expect(Object.entries(wider).filter(([, pixels]) => pixels > 0)).toEqual([]);
});

test('stops at every checkpoint are played again with the same stops', async () => {
  const tab = await predicted('/race/check-then-insert?do=AABAABBB&fine=1');
  await tab.locator('[data-verdict=violated]').first().click();
  await tab.locator('[data-again]').click();
  await says(tab, '[data-counted]', /10 of 10/);
});

test('on the Redis lock B waits for A with its reason, and a killed A keeps the lock', async () => {
  const tab = await predicted('/race/redis-atomic?do=AAB');
  await says(tab, '[data-waits=B]', /waits: A has the lock/);
  expect(await textOf(tab, '[data-reading=key]')).toMatch(/A has it.*\d+ s left/);
  await choose(tab, 'XA');
  await says(tab, '[data-waits=B]', /A, which is dead/);
  await tab.locator('[data-verdict=stuck]').first().waitFor();
  await choose(tab, 'B');
  expect(await textOf(tab, 'g[data-kind=stuck]')).toMatch(/waits for A/);
  await tab.locator('[data-fault=EA]').click();
  await canGo(tab, 'B');
});

test('a famous race is a link on the ladder: a late release lets a third request in', async () => {
  const tab = await page.open('/ladder/3');
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
  await choose(tab, 'RAS1S2');
  await tab.locator('[data-fault=H1]').waitFor();
  expect(await textOf(tab, 'aside .state')).toMatch(
    /no answer.*no answer.*1 of 3 masters, 2 needed: not enough/s,
  );
  await choose(tab, 'H1H2');
  await tab.locator('[data-fault=S1]').waitFor();
});

test('a replica without the lock is promoted in a famous race, which goes on by hand', async () => {
  const tab = await page.open('/ladder/3');
  await tab.locator('[data-rung=redis-reentrant]').click();
  await tab.locator('[data-race=stale-promotion]').click();
  await tab.locator('[data-predict=two]').click();
  await tab.locator('[data-outcome=two]').waitFor();
  expect(await textOf(tab, 'g[data-kind=fault]')).toMatch(/the replica hears nothing more/);
  expect(await textOf(tab, '[data-verdict=violated]')).toMatch(/never two orders for one user/);
  await tab.locator('button.step').nth(4).click(); // Before the promotion.
  await canGo(tab, 'A');
  await choose(tab, 'BB');
  expect(await textOf(tab, '[data-waits=B]')).toMatch(/A has the lock/);
});

test('a buyer forgets its lock, or waits for itself; what is rarely broken is behind a click', async () => {
  const tab = await predicted('/race/redis-atomic');
  expect(await tab.locator('[data-fault=GA]').isVisible()).toBe(false);
  await tab.locator('.faults summary').click();
  await tab.locator('[data-fault=GA]').click();
  await tab.locator('[data-fault=IB]:not([disabled])').click();
  await choose(tab, 'AAAB');
  expect(await textOf(tab, '[data-waits=B]')).toMatch(/A has the lock/);
  const nested = await predicted('/race/redis-atomic?do=IAAA');
  expect(await textOf(nested, '[data-waits=A]')).toMatch(/A has the lock/);
});

test('two owners of one lock are seen where no data is wrong', async () => {
  const tab = await predicted('/race/redis-owner?do=AAAAAAEABACBBCCC&lanes=3&fine=1');
  await says(tab, '[data-verdict=overlap]', /B, C had the lock at once, and no data is wrong/);
});

test('the time of a lease passes: it is renewed, and not by an event loop that is blocked', async () => {
  const tab = await predicted('/race/redis-reentrant?do=AAB');
  await tab.locator('.faults summary').click();
  await tab.locator('[data-fault=TA]:not([disabled])').click();
  await says(tab, 'g[data-kind=fault]', /its lease is renewed/);
  await canGo(tab, 'A');
  expect(await textOf(tab, '[data-waits=B]')).toMatch(/A has the lock/);
  await choose(tab, 'ZATA');
  await canGo(tab, 'B');
  await says(tab, 'g[data-kind=fault] >> nth=2', /the time of its lease passes/);
  await choose(tab, 'RA');
  await canGo(tab, 'A');
});

test('the server of a queue restarts while its worker stands still, and the order is lost', async () => {
  const tab = await predicted('/race/redis-pubsub?do=PWKQA');
  await choose(tab, 'ARWB');
  const lost = await textOf(tab, '[data-verdict=violated]');
  expect(lost).toMatch(/every accepted order exists/);
});

test('the order worker is a lane: killed with an order in hand it loses it, or gets it again', async () => {
  const tab = await predicted('/race/redis-list');
  await choose(tab, 'AA');
  await canGo(tab, 'W');
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
  await reliable.locator('g[data-lane=W][data-kind=at]').nth(1).waitFor();
});

test('a worker that stands in one tab is not for another; a buyer without his answer asks again', async () => {
  const one = await predicted('/race/redis-list?do=AA');
  await canGo(one, 'W');
  const two = await one.context().newPage();
  await two.goto(`http://${page.host}/race/lua-stream?do=UAA`);
  await two.locator('[data-predict=one]').click();
  await two.locator('[data-problem=WORKER_HELD]').waitFor();
  await choose(one, 'WWB');
  await one.locator('[data-verdict=held]').first().waitFor();
  expect(await textOf(one, 'g[data-kind=free]')).toMatch(/has settled it/);
  await two.locator('[data-retry]').click();
  await canGo(two, 'A');
  expect(await textOf(two, 'g[data-kind=answered]')).toMatch(/gets no answer: it is lost/);
  expect(await textOf(two, 'button[data-lane=A]')).toMatch(/asks again, with the same key/);
  await choose(two, 'AWWB');
  await two.locator('[data-verdict=held]').first().waitFor();
  expect(await textOf(two, '[data-reading=orders]')).toMatch(/order …\d{4}/);
});

test('what is predicted before the page has its session is played once it has it', async () => {
  const tab = await openTab(page.browser, 'about:blank');
  const refused: string[] = [];
  tab.on('response', (answer) => void (answer.status() >= 400 && refused.push(answer.url())));
  let enter = () => {};
  await tab.route('**/session', (route) => {
    enter = () => void route.continue();
  });
  await tab.goto(await page.keyed('/race/redis-atomic'), { waitUntil: 'commit' });
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[role=status]').nth(1).waitFor(); // It waits, and asks for nothing.
  enter();
  await canGo(tab, 'A');
  expect(refused).toEqual([]);
});

const askPage = (path: string, headers: Record<string, string>, body?: object) =>
  ask(`http://127.0.0.1:${page.port}${path}`, { host: page.host, ...headers }, body);
const newKey = async () => new URL(await page.keyed()).hash.slice('#key='.length);

test('a key is used once; another host, another origin and no cookie are refused', async () => {
  const key = await newKey();
  const own = { origin: `http://${page.host}` };
  const elsewhere = `127.0.0.1:${page.port}`;
  const enter = (headers: Record<string, string>) => askPage('/session', headers, { key });
  expect(await enter({ origin: `http://${elsewhere}` })).toMatchObject({ status: 403 });
  expect(await enter({})).toMatchObject({ status: 403 });
  expect(await enter({ ...own, host: elsewhere })).toMatchObject({ status: 421 });
  const { status, set, cookie } = await enter(own);
  expect(status).toBe(201);
  expect(await enter(own)).toMatchObject({ status: 403 });
  expect(set).toMatch(/HttpOnly.*SameSite=Strict/);
  expect(await askPage('/api/feed', {})).toMatchObject({ status: 401 });
  expect(await askPage('/api/feed', { cookie })).toMatchObject({ status: 200 });
  // Another port of this host has the cookie: to a browser it is the same site.
  const site = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' };
  expect(await askPage('/api/feed', { cookie, ...site })).toMatchObject({ status: 403 });
  for (const wanted of [{ rung: 'no-rung' }, { rung: 'lua-stream', choices: 'EW' }]) {
    const body = { ...wanted, slot: 'test main' };
    expect(await askPage('/api/plays', { ...own, cookie }, body)).toMatchObject({ status: 400 });
  }
});

test('two tabs of one browser play side by side, and neither ends the play of the other', async () => {
  const one = await predicted('/race/redis-atomic?do=A');
  const two = await one.context().newPage();
  await two.goto(`http://${page.host}/race/row-lock?do=A`);
  await predict(two);
  await choose(two, 'B');
  await two.locator('[data-waits=B]').waitFor();
  await choose(one, 'AB');
  expect(await textOf(one, '[data-waits=B]')).toMatch(/A has the lock/);
  expect(await textOf(two, '[data-waits=B]')).toMatch(/transaction of A/);
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

describe('a room', () => {
  let instructor: Page;
  const roomAddress = () => `http://127.0.0.2:${page.port}`;

  /** The instructor opens it at an address that only this machine has. @returns its code */
  async function openRoom(): Promise<string> {
    instructor = await page.open('/room');
    await instructor.locator('input[name=address]').fill('127.0.0.2');
    await instructor.locator('[data-open-room]').click();
    return (await instructor.locator('[data-code]').textContent()) ?? '';
  }

  async function closeRoom(): Promise<void> {
    await instructor.locator('[data-close-room]').click();
    await instructor.locator('[data-open-room]').waitFor();
  }

  test('its learners play at once on vouchers of their own, and hit no server', async () => {
    const code = await openRoom();
    const join = () => openTab(page.browser, `${roomAddress()}/#join=${code}`, mayFail);
    const learners = await Promise.all([join(), join()]);
    await instructor.locator('[data-here="2"]').waitFor();
    await instructor.locator('[data-bring]').selectOption('mutex-per-user');
    await Promise.all(
      learners.map(async (tab) => {
        await tab.locator('[data-room-at=mutex-per-user] [data-go-there]').click();
        await tab.locator('[data-predict=one]').click();
        await canGo(tab, 'A');
        expect(await tab.locator('[data-fault^=X]').count()).toBe(0);
        await choose(tab, 'AABBAB');
        await tab.locator('[data-outcome=two]').waitFor();
      }),
    );
    const tally = instructor.locator('[data-tally=mutex-per-user]');
    await tally.locator('[data-broke="2"]').waitFor();
    expect(await tally.locator('[data-outcome=one] [data-count="predicted 2"]').count()).toBe(1);
    expect(await tally.locator('[data-outcome=two] [data-count="seen 2"]').count()).toBe(1);
    await closeRoom();
    await learners[0]?.getByText('The room is closed.').waitFor();
    await expect(request(roomAddress())).rejects.toThrow('ECONNREFUSED');
  });

  test('Enter in the code joins and no letter of it is a shortcut; a wrong one does not', async () => {
    const code = await openRoom();
    const learner = await openTab(page.browser, roomAddress(), mayFail);
    const links = () => learner.locator('header nav a').count();
    const field = learner.locator('input[name=code]');
    await field.fill('WRONG2');
    await learner.locator('[data-join]').click();
    await learner.locator('[data-problem=WRONG_CODE]').waitFor();
    expect(await links()).toBe(3); // The ladder, the workshop and the docs.
    await field.clear();
    await field.pressSequentially(code);
    await field.press('Enter');
    await learner.locator('[data-rung=check-then-insert]').waitFor();
    expect([new URL(learner.url()).pathname, await links()]).toEqual(['/', 3]);
    await closedDoorsAreNamed(learner);
    await instructor.locator('[data-close-room]').click();
    await learner.locator('[data-closed]').waitFor();
    expect(await learner.locator('header nav, [data-connection]').count()).toBe(0);
    await instructor.locator('[data-open-room]').click();
    await field.waitFor(); // It asks for the new code.
    await closeRoom();
  });

  async function closedDoorsAreNamed(learner: Page): Promise<void> {
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
  }

  /** @returns what a learner asks with his own cookie */
  async function joined(code: string) {
    const origin = roomAddress();
    const { status, cookie } = await ask(`${origin}/join`, { origin }, { code });
    const send = (method: 'POST' | 'DELETE', path: string, body = {}) =>
      ask(`${origin}${path}`, { origin, cookie }, body, method);
    return { status, session: cookie.split('=')[1] ?? '', send };
  }

  /** What the page of the instructor answers to this session. */
  const instructorsAnswer = (session: string) =>
    askPage('/api/feed', { cookie: `lockstep-${page.host.replaceAll(/\W/g, '-')}=${session}` });

  test('a learner can stop no server, and his cookie opens this room alone; the 31st is refused', async () => {
    const code = await openRoom();
    const { send, session } = await joined(code);
    const play = { rung: 'redlock', slot: 'a main', choices: 'A' };
    const begun = await send('POST', '/api/plays', play);
    expect(begun.status).toBe(201);
    const choices = `/api/plays/${begun.player}/choices`;
    for (const choice of ['S2', 'XA', 'PA', 'SW'])
      expect(await send('POST', choices, { choice })).toMatchObject({ code: 'INSTRUCTORS_ALONE' });
    for (const more of [{ choices: 'S2' }, { rung: 'lua-stream' }])
      expect(await send('POST', '/api/plays', { ...play, ...more })).toMatchObject({
        ...{ status: 403, code: 'INSTRUCTORS_ALONE' },
      });
    for (const path of ['/api/faults', '/api/runs', '/api/again', '/api/room', '/session'])
      expect(await send('POST', path)).toMatchObject({ status: 404 });
    for (const path of ['/api/plays', '/api/room'])
      expect(await send('DELETE', path)).toMatchObject({ status: 404 });
    expect(await send('POST', choices, { choice: 'A' })).toMatchObject({ status: 200 });

    for (let count = 2; count <= 30; count++)
      expect(await joined(code)).toMatchObject({ status: 201 });
    expect(await joined(code)).toMatchObject({ status: 409 });

    const instructors = (await useKey(folder, await newKey())) ?? '';
    expect(await instructorsAnswer(instructors)).toMatchObject({ status: 200 });
    expect(await instructorsAnswer(session)).toMatchObject({ status: 401 });
    await closeRoom();
    await instructor.locator('[data-open-room]').click();
    await instructor.locator('[data-code]').waitFor();
    expect(await send('POST', '/api/plays', play)).toMatchObject({ code: 'join-first' });
    await closeRoom();
  });
});

async function isAsBeforeItsPlays(lab: Lab): Promise<void> {
  expect(lab.shape.settings ?? {}).not.toMatchObject(playSettings);
  const [{ s } = { s: 0 }] = await asDatabaseRoot(lab.dataFolder(lab.database), async (root) => {
    const asked = 'SELECT @@GLOBAL.innodb_lock_wait_timeout AS s';
    return (await root.query<RowDataPacket[]>(asked))[0];
  });
  expect(Number(s)).toBe(5);
}

// The last one: to have the lab again takes a while.
test('a server that ends, a lab that a command has, and one given back: the page says so', async () => {
  const tab = await page.open('/race/redis-atomic?do=A', mayFail);
  await predict(tab);
  await page.stop();
  await tab.locator('[data-connection=lost]').waitFor();
  await alone(folder, async () => {
    await page.start();
    await tab.locator('[data-connection=open]').waitFor();
    await tab.locator('[data-problem=LAB_BUSY]').waitFor();
  });
  await tab.locator('[data-retry]').click();
  await canGo(tab, 'A');
  await choose(tab, 'A');
  await page.plays.leave();
  await tab.locator('[data-retry]').waitFor();
  expect(await textOf(tab, 'main')).toMatch(/This play is over/);
  await isAsBeforeItsPlays(Lab.running(folder) as Lab);
}, 240_000);
