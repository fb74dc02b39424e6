/** Races and drills in the page, in Chromium on a real lab: begun, shown, and broken by hand. */
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { type ServerType, serve } from '@hono/node-server';
import { execa } from 'execa';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askLab } from '../../src/lab/by-hand/ask-lab.ts';
import { Lab } from '../../src/lab/environment/lab.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { withRedis } from '../../src/lab/environment/replication.ts';
import { addressWithKey } from '../../src/lab/page/access.ts';
import { pageApp } from '../../src/lab/page/server/app.ts';
import { Plays } from '../../src/lab/page/server/plays.ts';
import { RoomDoor } from '../../src/lab/page/server/room-door.ts';
import { Runs } from '../../src/lab/page/server/runs.ts';
import type { LoadCost } from '../../src/lab/stage/seconds.ts';
import { defaultKeyPrefix } from '../../src/locks/lock.ts';
import { openTab, startBrowser, widerThanAPhone } from '../support/browser.ts';
import { newDataFolder } from '../support/data-home.ts';
import { ownLab } from '../support/own-lab.ts';

const program = new URL('../../scripts/lockstep.mjs', import.meta.url).pathname;
const { folder } = ownLab;
const runsFolder = newDataFolder();
let browser: Browser;
let server: ServerType;
let host = '';
let runs: Runs;

beforeAll(async () => {
  const port = await freePorts(19_400);
  host = `lab-test.localhost:${port}`;
  browser = await startBrowser();
  const plays = new Plays(folder);
  runs = new Runs(folder, runsFolder, plays);
  server = serve({
    fetch: pageApp({ folder, host, plays, runs, door: new RoomDoor({ folder, port, plays }) })
      .fetch,
    port,
    hostname: '127.0.0.1',
  });
  await once(server, 'listening');
});
afterAll(async () => {
  await runs.stop();
  await browser.close();
  server.close();
  rmSync(runsFolder, { recursive: true });
});

async function openPage(path: string, more: Parameters<typeof openTab>[2] = {}): Promise<Page> {
  const address = new URL(await addressWithKey(folder, `http://${host}`));
  const tab = await openTab(browser, `${address.origin}${path}${address.hash}`, more);
  await tab.locator('[data-connection=open]').waitFor();
  return tab;
}
const textOf = (tab: Page, selector: string) => tab.locator(selector).first().textContent();
const countIn = async (tab: Page, selector: string): Promise<number> =>
  Number((await textOf(tab, selector))?.replaceAll(/\D/g, '') ?? Number.NaN);
const countOf = (tab: Page, id: string) => countIn(tab, `[data-count=${id}] dd`);

/** Until the sale has gone on by so many. */
async function sellsOn(tab: Page, more = 20): Promise<void> {
  const before = await countOf(tab, 'accepted');
  await expect
    .poll(() => countOf(tab, 'accepted'), { timeout: 30_000 })
    .toBeGreaterThan(before + more);
}

async function breakPart(tab: Page, part: string, verb: string): Promise<void> {
  await tab.locator(`[data-part=${part}]`).click();
  await tab.locator(`[data-menu=${part}] [data-verb=${verb}]:not([disabled])`).click();
}
const inState = (tab: Page, part: string, state: string) =>
  tab.locator(`[data-part=${part}][data-state=${state}]`).waitFor({ timeout: 20_000 });

async function begun(rung: string): Promise<Page> {
  const tab = await openPage(`/break?rung=${rung}&load=100`);
  await tab.locator('[data-begin]').click();
  await tab.locator('[data-count=accepted]').waitFor({ timeout: 40_000 });
  await sellsOn(tab);
  return tab;
}

/** From the end to the moment at which the second master was stopped, and back. */
async function scrub(tab: Page): Promise<void> {
  for (const count of [1, 2, 3]) {
    await tab.locator('[data-jump=before]:not([disabled])').click();
    expect(await tab.locator('[data-past]').count(), String(count)).toBe(1);
  }
  await inState(tab, 'redis-2', 'stopped');
  await inState(tab, 'redis-3', 'odd'); // It has just been asked to stop.
  expect(await tab.locator('[data-judged]').count()).toBe(0);
  await tab.locator('[data-past] [data-live]').click();
  await tab.locator('[data-judged=held]').waitFor();
}

async function ended(tab: Page): Promise<void> {
  await tab.locator('[data-end]').click();
  await tab.locator('[data-over=true]').waitFor({ timeout: 60_000 });
}

test('a race with a fault that is no choice plays itself, once it is predicted, and on the next rung', async () => {
  const tab = await openPage('/ladder/4');
  await tab.locator('[data-rung=redlock]').click();
  await tab.locator('[data-race=restart-empty]').click();
  await tab.locator('[data-foretell=held]').waitFor();
  expect(await tab.locator('[data-kind]').count()).toBe(0);
  await tab.keyboard.press('2');
  await tab.locator('[data-judged=violated]').waitFor({ timeout: 50_000 });
  expect(await tab.locator('svg g[data-kind]').count()).toBe(7);
  expect(await textOf(tab, 'g.is-wrong')).toMatch(/second order/);
  expect(await textOf(tab, '[data-judged]')).toMatch(/as the ladder claims.*you were right/);
  const report = (await textOf(tab, '[data-report] code')) ?? '';
  expect(report).toContain(runsFolder);
  const replay = await openTab(browser, `file://${report}/index.html`, { isOffline: true });
  await replay.locator('[data-judged=violated]').waitFor();
  expect(await replay.locator('svg g[data-kind]').count()).toBe(7);
  await tab.keyboard.press('n');
  await tab.locator('[data-foretell=held]').click();
  await tab.locator('[data-judged=held]').waitFor({ timeout: 50_000 });
  expect(new URL(tab.url()).search).toBe('?rung=fenced');
  await tab.locator('[data-over=true]').waitFor({ timeout: 50_000 });
}, 120_000);

test('a race that runs is stopped, and nothing else begins meanwhile', async () => {
  const tab = await openPage('/run/race/lease-expires-during-sale', { mayFail: true });
  await tab.locator('[data-foretell=held]').click();
  await tab.locator('[data-stop]').waitFor({ timeout: 60_000 });
  const two = await tab.context().newPage();
  await two.goto(`${new URL(tab.url()).origin}/race/redis-atomic`);
  await two.locator('[data-predict=one]').click();
  await two.locator('[data-problem=LAB_BUSY]').waitFor();
  await tab.locator('[data-stop]').click();
  await tab.locator('[data-over=true]').waitFor({ timeout: 60_000 });
  expect(await textOf(tab, '[data-judged]')).toMatch(/Interrupted/);
  await two.locator('[data-retry]').click();
  await two.locator('button[data-lane=A]:not([disabled])').waitFor();
}, 120_000);

test('without two of three masters Redlock has no quorum and sells nothing; mended, it sells on', async () => {
  const tab = await begun('redlock');
  expect(await textOf(tab, '[data-quorum]')).toMatch(/3 of 3 masters/);
  await breakPart(tab, 'redis-2', 'stop');
  await inState(tab, 'redis-2', 'stopped');
  await sellsOn(tab); // Two of three are enough.
  await breakPart(tab, 'redis-3', 'stop');
  await inState(tab, 'redis-3', 'stopped');
  await tab.locator('[data-quorum="1"]').waitFor();
  const refused = await countOf(tab, 'refused');
  await expect
    .poll(() => countOf(tab, 'refused'), { timeout: 20_000 })
    .toBeGreaterThan(refused + 50);
  expect(await widerThanAPhone(tab)).toBe(0);
  await tab.locator('[data-heal]').click();
  await inState(tab, 'redis-2', 'runs');
  await sellsOn(tab);
  await ended(tab);
  expect(await textOf(tab, '[data-judged]')).toMatch(/every promise held.*2 faults/s);
  expect(await widerThanAPhone(tab)).toBe(0);
  expect(await countOf(tab, 'twice')).toBe(0);
  expect(
    await tab.locator('[data-bar="redis-2 stopped"], [data-bar="redis-3 stopped"]').count(),
  ).toBe(2);
  await scrub(tab);
  const report = (await textOf(tab, '[data-report] code')) ?? '';
  const result = JSON.parse(readFileSync(`${report}/result.json`, 'utf8'));
  expect(result).toMatchObject({
    verdict: 'held',
    faults: { 'stop redis-2': 1, 'stop redis-3': 1 },
  });
  const trace = JSON.parse(readFileSync(`${report}/trace.json`, 'utf8'));
  const names = trace.traceEvents.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['stop redis-2', 'stop redis-3']));
  const file = await openTab(browser, `file://${report}/index.html`, { isOffline: true });
  await file.locator('[data-judged=held]').waitFor();
  expect(await file.locator('canvas').count()).toBe(3);
  expect(await file.locator('[data-end]').count()).toBe(0);
}, 180_000);

test('of two rungs with the same buyers, the one without its quorum stops, and the other sells on', async () => {
  const tab = await openPage('/break?rung=redlock&load=50&beside=lua-stream');
  await tab.locator('[data-begin]').click();
  const of = (rung: string, id: string) =>
    countIn(tab, `[data-sale=${rung}] [data-count=${id}] dd`);
  await expect.poll(() => of('redlock', 'accepted'), { timeout: 60_000 }).toBeGreaterThan(50);
  for (const master of ['redis-2', 'redis-3']) {
    await breakPart(tab, master, 'stop');
    await inState(tab, master, 'stopped');
  }
  await tab.locator('[data-sale=redlock] [data-quorum="1"]').waitFor();
  const [refused, other] = [await of('redlock', 'refused'), await of('lua-stream', 'accepted')];
  await expect
    .poll(() => of('redlock', 'refused'), { timeout: 20_000 })
    .toBeGreaterThan(refused + 50);
  const sold = await of('redlock', 'accepted');
  await expect
    .poll(() => of('lua-stream', 'accepted'), { timeout: 20_000 })
    .toBeGreaterThan(other + 100);
  expect(await of('redlock', 'accepted')).toBe(sold);
  await tab.locator('[data-heal]').click();
  await expect.poll(() => of('redlock', 'accepted'), { timeout: 20_000 }).toBeGreaterThan(sold);
  await ended(tab);
  expect(await tab.locator('[data-compared] canvas').count()).toBe(2);
  expect(await textOf(tab, '[data-judged]')).toMatch(/every promise held/);
  const result = JSON.parse(
    readFileSync(`${await textOf(tab, '[data-report] code')}/result.json`, 'utf8'),
  );
  const [redlock, last] = result.tables[0].rows;
  expect([redlock[0], redlock.at(-1), last[0], last.at(-1)]).toEqual([
    ...['redlock', 'held', 'lua-stream', 'held'],
  ]);
  expect(Number(redlock[5])).toBeGreaterThan(Number(last[5])); // The time without a sale.
  const { withoutSale } = result.recorded.loads.find(({ load }: LoadCost) => load === 'redlock');
  const { fromMs, toMs } = withoutSale;
  expect(Math.abs(toMs - fromMs - Number(redlock[5]))).toBeLessThanOrEqual(1);
  const faults = result.tables[1].rows.map(([{ full }, load]: [{ full: string }, string]) => [
    full,
    load,
  ]);
  expect(faults).toEqual(
    ['stop redis-2', 'stop redis-3'].flatMap((name) =>
      ['redlock', 'lua-stream'].map((rung) => [name, rung]),
    ),
  );
  const seen = result.recorded.seconds.flatMap((second: { byInstance: object }) =>
    Object.keys(second.byInstance),
  );
  expect([...new Set(seen)].sort()).toEqual(['api-1', 'api-2', 'api-3']);
}, 180_000);

test('a list without acknowledgements loses what its killed worker had, and the page counts it', async () => {
  const tab = await begun('redis-list');
  await breakPart(tab, 'mariadb', 'pause'); // The worker has a batch in hand, and cannot record it.
  await inState(tab, 'mariadb', 'paused');
  await expect.poll(() => countOf(tab, 'queued'), { timeout: 20_000 }).toBeGreaterThan(50);
  await breakPart(tab, 'api-worker-1', 'kill');
  await breakPart(tab, 'mariadb', 'resume');
  await inState(tab, 'mariadb', 'runs');
  await sellsOn(tab);
  await ended(tab);
  expect(await textOf(tab, '[data-judged=violated]')).toMatch(
    /as the ladder claims.*no-lost-orders violated/,
  );
  expect(await countOf(tab, 'nowhere')).toBeGreaterThan(0);
}, 180_000);

test('a lease that slow work outlasts is called unsafe, and lost masters are seen in its lanes', async () => {
  const tab = await begun('redlock');
  const others = `${defaultKeyPrefix}voucher:0:user:7`; // No lock of this sale, and it never ends.
  const lab = Lab.running(folder) as Lab;
  await withRedis(lab.portOf('redis-1'), (redis) => redis.set(others, 'x'));
  await breakPart(tab, 'mariadb', 'slow');
  await tab.locator('[data-lock]').first().waitFor({ timeout: 20_000 });
  await tab.locator('[data-inside=unsafe]').waitFor({ timeout: 40_000 });
  expect(await tab.locator('[data-lock^="voucher:0:"]').count()).toBe(0);
  for (const master of ['redis-2', 'redis-3']) {
    await breakPart(tab, master, 'stop');
    await inState(tab, master, 'stopped');
  }
  await tab.locator('[data-lock] td:last-child', { hasText: '? 1/3' }).first().waitFor();
  await ended(tab);
}, 180_000);

test('a worker that is killed with orders in hand loses none, and the terminal breaks the same sale', async () => {
  const tab = await begun('lua-stream');
  await breakPart(tab, 'api-worker-1', 'kill');
  await tab.locator('[data-told=fault]').waitFor();
  await tab.locator('[data-told=healed]').waitFor({ timeout: 20_000 }); // The service replaced it.
  await inState(tab, 'api-worker-1', 'runs');
  await sellsOn(tab);
  const lab = Lab.running(folder);
  const asked = { verb: 'pause', server: 'mariadb', ms: 0 } as const;
  expect(lab && (await askLab(lab, asked))).toMatch(/^mariadb is paused/);
  await inState(tab, 'mariadb', 'paused');
  for (const id of ['recorded', 'twice', 'nowhere']) // Nobody can know them.
    await tab.locator(`[data-count=${id}].dim dd`, { hasText: /^\?$/ }).waitFor();
  const queued = async () => (await countOf(tab, 'queued')) + (await countOf(tab, 'in-hand'));
  await expect.poll(queued, { timeout: 20_000 }).toBeGreaterThan(50);
  await breakPart(tab, 'mariadb', 'resume');
  await inState(tab, 'mariadb', 'runs');
  await sellsOn(tab);
  await ended(tab);
  expect(await textOf(tab, '[data-judged]')).toMatch(/every promise held/);
  for (const id of ['queued', 'in-hand', 'nowhere']) expect(await countOf(tab, id), id).toBe(0);
  expect(lab && (await askLab(lab, asked))).toBeNull(); // Nobody takes it any more.
}, 180_000);

test('a Redis that stands still stops the sale, and the counts go on once it runs again', async () => {
  const tab = await begun('lua-stream');
  await breakPart(tab, 'redis-main', 'pause');
  await tab.locator('[role=status].wrong-text').waitFor({ timeout: 20_000 });
  await expect.poll(() => countOf(tab, 'refused'), { timeout: 20_000 }).toBeGreaterThan(100);
  expect(await textOf(tab, '.counts')).toMatch(/refused: .*not-ready/);
  await breakPart(tab, 'redis-main', 'resume');
  await sellsOn(tab, 200);
  await breakPart(tab, 'redis-main', 'flush-all'); // What it acknowledged is gone.
  await breakPart(tab, 'redis-main', 'mend');
  await sellsOn(tab, 200);
  await ended(tab);
  expect(await textOf(tab, '[data-judged]')).not.toMatch(/NOT as the ladder claims/);
  const downloading = tab.waitForEvent('download');
  await tab.locator('[data-export]').click();
  const file = `${runsFolder}/exported.html`;
  await (await downloading).saveAs(file);
  const replay = await openTab(browser, `file://${file}`, { isOffline: true });
  await replay.locator('[data-judged]').waitFor();
  expect(await replay.locator('main [role=status]').count()).toBe(0); // Nothing goes on there.
  await tab.locator('[data-choose-again]').click();
  await tab.locator('[data-begin]:not([disabled])').waitFor();
}, 180_000);

test('the workshop in the page is predicted, moved through, and opens its plays', async () => {
  const address = new URL(await addressWithKey(folder, `http://${host}`));
  const tab = await openTab(browser, `${address.origin}/workshop?language=zh${address.hash}`);
  await tab.getByText('Lockstep 课堂').waitFor();
  await tab.waitForURL(/#1$/);
  for (let slides = 0; slides < 2; slides++) await tab.keyboard.press('ArrowRight');
  const line = tab.locator('section:not([hidden]) button[data-letter=A]');
  await line.getByText('数据库只让其中一个写成功').click(); // Anywhere in it.
  await tab.keyboard.press('ArrowRight');
  const link = tab.locator('section:not([hidden]) a[href^="/race/"]').last();
  const href = '/race/read-then-write?do=ABAB&language=zh';
  expect(await link.getAttribute('href')).toBe(href);
  for (let slides = 0; slides < 3; slides++) await tab.keyboard.press('ArrowRight');
  expect(await textOf(tab, 'section:not([hidden]) [data-answer]')).toBe('A ✗');
  await tab.keyboard.press('n');
  await tab.locator('section:not([hidden]) aside').waitFor();
  const slide = new URL(tab.url()).hash;
  await tab.getByRole('link', { name: 'English' }).click();
  await tab.waitForURL(`**/workshop?language=en${slide}`);
  await tab.goto(address.origin + href);
  await tab.locator('[data-connection=open]').waitFor();
  expect(await tab.evaluate(() => document.documentElement.lang)).toBe('zh');
  await tab.locator('[data-predict]').first().click();
  await tab.locator('[data-outcome]').waitFor();
  await tab.goto(`${address.origin}/drills`); // The page still has the lab, and says so.
  await tab.locator('[data-give-back]').click();
  await tab.waitForURL('**/ladder/2');
  expect(await tab.locator('[data-give-back]').count()).toBe(0);
}, 60_000);

test('a cell of the scoreboard plays its race, and the verdict seen here stands beside the published', async () => {
  const tab = await openPage('/scoreboard');
  const cell = tab.locator('[data-cell=race-restart-empty-redlock]');
  expect(await cell.textContent()).toBe('✗1');
  await cell.focus();
  await tab.keyboard.press('ArrowUp');
  await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('Enter');
  expect(new URL(tab.url()).pathname).toBe('/run/race/restart-empty');
  await tab.locator('[data-foretell=violated]:not([disabled])').click();
  await tab.locator('[data-judged=violated]').waitFor({ timeout: 60_000 });
  await tab.locator('[data-over=true]').waitFor({ timeout: 60_000 });
  await tab.goBack();
  expect(await textOf(tab, '[data-cell=race-restart-empty-redlock] [data-seen]')).toMatch(/✗/);
}, 180_000);

test('the report of a scoreboard is its table, and each cell says what was seen there', async () => {
  const only = ['--rungs', 'redlock', '--faults', 'restart-empty,1-stopped'];
  const { stdout } = await execa('node', [program, 'scoreboard', ...only, '--json'], {
    env: { LOCKSTEP_LAB: folder, LOCKSTEP_RUNS: runsFolder },
  });
  const report = await openTab(browser, `file://${JSON.parse(stdout).folder}/index.html`, {
    isOffline: true,
  });
  const [raced, sold] = [0, 1].map((index) => report.locator('[data-says]').nth(index));
  expect(await raced?.textContent()).toBe('✗1');
  expect(await raced?.getAttribute('title')).toMatch(
    /^redlock, restart-empty: the data is wrong, as claimed: /,
  );
  expect(await sold?.textContent()).toMatch(/^✓ \d+\.\d \+\d+\.\d$/);
  expect(await sold?.getAttribute('title')).toMatch(/^redlock, 1-stopped: sold on; longest time/);
  expect(await report.locator('[data-says]').count()).toBe(2);
}, 180_000);

test('a drill is begun in the page once it is predicted, shown while it runs, and reported', async () => {
  const tab = await openPage('/drills');
  await tab.locator('[data-drill=script-flush]').click();
  expect(new URL(tab.url()).pathname).toBe('/run/drill/script-flush');
  await tab.locator('[data-foretell=held]:not([disabled])').waitFor();
  await tab.keyboard.press('1');
  await tab.locator('[data-told=fault]').first().waitFor({ timeout: 60_000 });
  await tab.locator('[data-judged=held]').waitFor({ timeout: 120_000 });
  expect(await textOf(tab, '[data-judged]')).toMatch(/you were right/);
  expect(await textOf(tab, '.numbers')).not.toBe('');
  await tab.locator('[data-report]').waitFor({ timeout: 60_000 });
}, 240_000);
