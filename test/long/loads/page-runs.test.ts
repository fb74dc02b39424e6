/** Races and drills in the page, in Chromium on a real lab: begun, shown, and broken by hand. */
import { readFileSync, rmSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { askLab } from '../../../src/lab/by-hand/asked-faults.ts';
import { Lab } from '../../../src/lab/environment/lab.ts';
import { withRedis } from '../../../src/lab/environment/replication.ts';
import type { LoadCost } from '../../../src/lab/stage/seconds.ts';
import { defaultKeyPrefix } from '../../../src/service/locks/lock.ts';
import { testConnections } from '../../support/connections.ts';
import { newDataFolder } from '../../support/data-home.ts';
import { lockstepWith } from '../../support/lockstep.ts';
import { ownLab } from '../../support/own-lab.ts';
import { lockRow } from '../../support/own-stores.ts';
import { livePage, openTab, textOf, widerThanAPhone } from '../../support/page.ts';

const { folder } = ownLab;
const runsFolder = newDataFolder();
afterAll(() => rmSync(runsFolder, { recursive: true })); // After that of the page.
const page = livePage(19_400, runsFolder);

/** As a run takes them: its servers are started, broken and stopped meanwhile. */
const slowly = { timeout: 60_000 };

/** What the page counts of a sale. */
async function countOf(tab: Page, id: string, rung?: string): Promise<number> {
  const sale = rung ? `[data-sale=${rung}] ` : '';
  const text = await textOf(tab, `${sale}[data-count=${id}] dd`);
  return Number(text?.replaceAll(/\D/g, '') ?? Number.NaN);
}

async function grows(tab: Page, id: string, more: number, rung?: string): Promise<void> {
  const before = await countOf(tab, id, rung);
  await expect.poll(() => countOf(tab, id, rung), slowly).toBeGreaterThan(before + more);
}
const sellsOn = (tab: Page, rung?: string) => grows(tab, 'accepted', 20, rung);

/** By a click, until the page shows it. */
async function breakPart(tab: Page, part: string, verb: string, state?: string): Promise<void> {
  await tab.locator(`[data-part=${part}]`).click();
  await tab.locator(`[data-menu=${part}] [data-verb=${verb}]:not([disabled])`).click();
  if (state) await inState(tab, part, state);
}
const inState = (tab: Page, part: string, state: string) =>
  tab.locator(`[data-part=${part}][data-state=${state}]`).waitFor();

async function begun(choice: string): Promise<Page> {
  onTestFinished(() => page.runs.stop()); // When a test fails, the next one has the lab.
  const tab = await page.open(`/break?rung=${choice}`);
  await tab.locator('[data-begin]:not([disabled])').waitFor();
  await tab.keyboard.press('1'); // Nothing is predicted here: it begins by its button alone.
  await tab.locator('[data-begin]').click();
  await tab.locator('[data-count=accepted]').first().waitFor(slowly);
  await sellsOn(tab);
  return tab;
}

const isOver = (tab: Page) => tab.locator('[data-over=true]').waitFor(slowly);

async function ended(tab: Page): Promise<void> {
  await tab.locator('[data-end]').click();
  await isOver(tab);
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

test('a cell of the scoreboard plays its race once it is predicted, and then on the next rung', async () => {
  const tab = await page.open('/scoreboard');
  const cell = tab.locator('[data-cell=race-restart-empty-redlock]');
  expect(await cell.textContent()).toBe('✗1');
  await cell.focus();
  for (const key of ['ArrowUp', 'ArrowDown', 'Enter']) await tab.keyboard.press(key);
  expect(new URL(tab.url()).pathname).toBe('/run/race/restart-empty');
  await tab.locator('[data-predict=held]:not([disabled])').waitFor();
  expect(await tab.locator('[data-kind]').count()).toBe(0);
  await tab.keyboard.press('2');
  await tab.locator('[data-judged=violated]').waitFor(slowly);
  expect(await tab.locator('svg g[data-kind]').count()).toBe(7);
  expect(await textOf(tab, 'g.is-wrong')).toMatch(/second order/);
  expect(await textOf(tab, '[data-judged]')).toMatch(/as the ladder claims.*you were right/);
  const report = (await textOf(tab, '[data-report] code')) ?? '';
  expect(report).toContain(runsFolder);
  const replay = await openTab(page.browser, `file://${report}/index.html`, { isOffline: true });
  await replay.locator('[data-judged=violated]').waitFor();
  expect(await replay.locator('svg g[data-kind]').count()).toBe(7);
  await tab.keyboard.press('n');
  await tab.locator('[data-predict=held]').click();
  await tab.locator('[data-judged=held]').waitFor(slowly);
  expect(new URL(tab.url()).search).toBe('?rung=fenced');
  await isOver(tab);
  await tab.locator('a[href="/scoreboard"]').click();
  expect(await cell.locator('[data-seen]').textContent()).toMatch(/✗/); // Beside the published.
}, 240_000);

test('a race that runs is stopped, and nothing else begins meanwhile', async () => {
  const tab = await page.open('/run/race/lease-expires-during-sale', { mayFail: true });
  await tab.locator('[data-predict=held]').click();
  await tab.locator('[data-stop]').waitFor(slowly);
  const two = await tab.context().newPage();
  await two.goto(`http://${page.host}/race/redis-atomic`);
  await two.locator('[data-predict=one]').click();
  await two.locator('[data-problem=LAB_BUSY]').waitFor();
  await tab.locator('[data-stop]').click();
  await isOver(tab);
  expect(await textOf(tab, '[data-judged]')).toMatch(/Interrupted/);
  await two.locator('[data-retry]').click();
  await two.locator('button[data-lane=A]:not([disabled])').waitFor();
}, 240_000);

test('the workshop in the page is predicted, moved through, and opens its plays', async () => {
  const tab = await openTab(page.browser, await page.keyed('/workshop?language=zh'));
  const slide = 'section:not([hidden])';
  const press = async (key: string, times: number) => {
    for (let count = 0; count < times; count++) await tab.keyboard.press(key);
  };
  await tab.getByText('Lockstep 课堂').waitFor();
  await tab.waitForURL(/#1$/);
  await press('ArrowRight', 2);
  const line = tab.locator(`${slide} button[data-letter=A]`);
  await line.getByText('数据库只让其中一个写成功').click(); // Anywhere in it.
  await press('ArrowRight', 1);
  const href = '/race/read-then-write?do=ABAB&language=zh';
  const link = tab.locator(`${slide} a[href^="/race/"]`).last();
  expect(await link.getAttribute('href')).toBe(href);
  await press('ArrowRight', 3);
  expect(await textOf(tab, `${slide} [data-answer]`)).toBe('A ✗');
  await tab.keyboard.press('n');
  await tab.locator(`${slide} aside`).waitFor();
  const { hash } = new URL(tab.url());
  await tab.getByRole('link', { name: 'English' }).click();
  await tab.waitForURL(`**/workshop?language=en${hash}`);
  await tab.goto(`http://${page.host}${href}`);
  await tab.locator('[data-connection=open]').waitFor();
  expect(await tab.evaluate(() => document.documentElement.lang)).toBe('zh');
  await tab.locator('[data-predict]').first().click();
  await tab.locator('[data-outcome]').waitFor();
  await tab.goto(`http://${page.host}/drills`); // The page still has the lab, and says so.
  await tab.locator('[data-give-back]').click();
  await tab.waitForURL('**/ladder/2');
  expect(await tab.locator('[data-give-back]').count()).toBe(0);
});

test('without two of three masters Redlock sells nothing, the rung beside it does; mended, both sell', async () => {
  const tab = await begun('redlock&load=20&beside=lua-stream');
  expect(await textOf(tab, '[data-sale=redlock] [data-quorum]')).toMatch(/3 of 3 masters/);
  await breakPart(tab, 'redis-2', 'stop', 'stopped');
  await sellsOn(tab, 'redlock'); // Two of three are enough.
  await breakPart(tab, 'redis-3', 'stop', 'stopped');
  await tab.locator('[data-sale=redlock] [data-quorum="1"]').waitFor();
  await grows(tab, 'refused', 50, 'redlock');
  const sold = await countOf(tab, 'accepted', 'redlock');
  await grows(tab, 'accepted', 100, 'lua-stream');
  expect(await countOf(tab, 'accepted', 'redlock')).toBe(sold);
  expect(await widerThanAPhone(tab)).toBe(0);
  await tab.locator('[data-heal]').click();
  await inState(tab, 'redis-2', 'runs');
  await sellsOn(tab, 'redlock');
  await ended(tab);
  expect(await textOf(tab, '[data-judged]')).toMatch(/every promise held.*2 faults/s);
  expect(await widerThanAPhone(tab)).toBe(0);
  for (const rung of ['redlock', 'lua-stream']) expect(await countOf(tab, 'twice', rung)).toBe(0);
  expect(await tab.locator('[data-compared] canvas').count()).toBe(2);
  for (const bar of ['redis-2 stopped', 'redis-3 stopped'])
    expect(await tab.locator(`[data-bar="${bar}"]`).count(), bar).toBe(1);
  await scrub(tab);
  const report = (await textOf(tab, '[data-report] code')) ?? '';
  expectBothSales(report);
  const file = await openTab(page.browser, `file://${report}/index.html`, { isOffline: true });
  await file.locator('[data-judged=held]').waitFor();
  expect(await file.locator('canvas').count()).toBe(await tab.locator('canvas').count());
  expect(await file.locator('[data-end]').count()).toBe(0);
}, 360_000);

/** The files of the report have the faults, and of each rung its sale. */
function expectBothSales(report: string): void {
  const read = (name: string) => JSON.parse(readFileSync(`${report}/${name}`, 'utf8'));
  const { verdict, faults, tables, recorded } = read('result.json');
  const stops = ['stop redis-2', 'stop redis-3'];
  expect({ verdict, faults }).toMatchObject({
    ...{ verdict: 'held', faults: Object.fromEntries(stops.map((stop) => [stop, 1])) },
  });
  const names = read('trace.json').traceEvents.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(stops));
  const [redlock, last] = tables[0].rows;
  expect([redlock[0], redlock.at(-1).en, last[0], last.at(-1).en]).toEqual([
    ...['redlock', 'held', 'lua-stream', 'held'],
  ]);
  expect(Number(redlock[5])).toBeGreaterThan(Number(last[5])); // The time without a sale.
  const { withoutSale } = recorded.loads.find(({ load }: LoadCost) => load === 'redlock');
  const lasted = withoutSale.toMs - withoutSale.fromMs;
  expect(Math.abs(lasted - Number(redlock[5]))).toBeLessThanOrEqual(1);
  const hit = tables[1].rows.map(([{ full }, load]: [{ full: string }, string]) => [full, load]);
  const loads = ['redlock', 'lua-stream'];
  expect(hit).toEqual(stops.flatMap((name) => loads.map((load) => [name, load])));
  const seen = recorded.seconds.flatMap((second: { byInstance: object }) =>
    Object.keys(second.byInstance),
  );
  expect([...new Set(seen)].sort()).toEqual(['api-1', 'api-2', 'api-3']);
}

test('a list without acknowledgements loses what its killed worker had, and the page counts it', async () => {
  const tab = await begun('redis-list&load=100');
  // The worker has a batch in hand whose COMMIT it cannot have sent: a paused MariaDB may have it.
  const letGo = await lockRow(testConnections().mysql(), 'seckill_stock');
  await grows(tab, 'queued', 50);
  await breakPart(tab, 'api-worker-1', 'kill');
  await tab.locator('[data-told=healed]').waitFor(); // The service replaced it.
  await letGo();
  await sellsOn(tab);
  await ended(tab);
  expect(await textOf(tab, '[data-judged=violated]')).toMatch(
    /as the ladder claims.*no-lost-orders violated/,
  );
  expect(await countOf(tab, 'nowhere')).toBeGreaterThan(0);
}, 360_000);

test('a lease that slow work outlasts is called unsafe, and lost masters are seen in its lanes', async () => {
  const tab = await begun('redlock&load=100');
  const others = `${defaultKeyPrefix}voucher:0:user:7`; // No lock of this sale, and it never ends.
  const lab = Lab.running(folder) as Lab;
  await withRedis(lab.portOf('redis-1'), (redis) => redis.set(others, 'x'));
  await breakPart(tab, 'mariadb', 'slow');
  await tab.locator('[data-lock]').first().waitFor();
  await tab.locator('[data-inside=unsafe]').waitFor(slowly);
  expect(await tab.locator('[data-lock^="voucher:0:"]').count()).toBe(0);
  for (const master of ['redis-2', 'redis-3']) await breakPart(tab, master, 'stop', 'stopped');
  await tab.locator('[data-lock] td:last-child', { hasText: '? 1/3' }).first().waitFor();
  await breakPart(tab, 'mariadb', 'mend', 'runs');
  await ended(tab);
}, 360_000);

test('a worker that is killed with orders in hand loses none, and what stands still is not counted', async () => {
  const tab = await begun('lua-stream&load=100');
  await breakPart(tab, 'api-worker-1', 'kill');
  await tab.locator('[data-told=fault]').waitFor();
  await tab.locator('[data-told=healed]').waitFor(); // The service replaced it.
  await inState(tab, 'api-worker-1', 'runs');
  await sellsOn(tab);
  // The terminal breaks the same sale.
  const lab = Lab.running(folder) as Lab;
  const asked = { verb: 'pause', server: 'mariadb', ms: 0 } as const;
  expect((await askLab(lab, asked))?.en).toMatch(/^mariadb is paused/);
  await inState(tab, 'mariadb', 'paused');
  for (const id of ['recorded', 'twice', 'nowhere']) // Nobody can know them.
    await tab.locator(`[data-count=${id}].dim dd`, { hasText: /^\?$/ }).waitFor();
  const queued = async () => (await countOf(tab, 'queued')) + (await countOf(tab, 'in-hand'));
  await expect.poll(queued).toBeGreaterThan(50);
  await breakPart(tab, 'mariadb', 'resume', 'runs');
  await sellsOn(tab);
  await breakPart(tab, 'redis-main', 'pause');
  await tab.locator('[role=status].wrong-text').waitFor(); // It sells nothing.
  await grows(tab, 'refused', 100);
  expect(await textOf(tab, '.counts')).toMatch(/refused: .*not-ready/);
  await breakPart(tab, 'redis-main', 'resume');
  await grows(tab, 'accepted', 200);
  await ended(tab);
  expect(await textOf(tab, '[data-judged]')).toMatch(/every promise held/);
  for (const id of ['queued', 'in-hand', 'nowhere']) expect(await countOf(tab, id), id).toBe(0);
  expect(await askLab(lab, asked)).toBeNull(); // Nobody takes it any more.
  await isExported(tab);
  await tab.locator('[data-choose-again]').click();
  await tab.locator('[data-begin]:not([disabled])').waitFor();
}, 360_000);

async function isExported(tab: Page): Promise<void> {
  const downloading = tab.waitForEvent('download');
  await tab.locator('[data-export]').click();
  const file = `${runsFolder}/exported.html`;
  await (await downloading).saveAs(file);
  const replay = await openTab(page.browser, `file://${file}`, { isOffline: true });
  await replay.locator('[data-judged]').waitFor();
  expect(await replay.locator('main [role=status]').count()).toBe(0); // Nothing goes on there.
}

test('the report of a scoreboard is its table, and each cell says what was seen there', async () => {
  const words = ['--rungs', 'redlock', '--faults', 'restart-empty,1-stopped', '--json'];
  const settings = { LOCKSTEP_RUNS: runsFolder };
  const { stdout, exitCode } = await lockstepWith(settings, 'scoreboard', ...words);
  expect(exitCode).toBe(0);
  const report = await openTab(page.browser, `file://${JSON.parse(stdout).folder}/index.html`, {
    isOffline: true,
  });
  const cells = report.locator('[data-says]');
  const [raced, sold] = [cells.nth(0), cells.nth(1)];
  expect(await raced.textContent()).toBe('✗1');
  expect(await raced.getAttribute('title')).toMatch(
    /^redlock, restart-empty: the data is wrong, as claimed: /,
  );
  expect(await sold.textContent()).toMatch(/^✓ \d+\.\d \+\d+\.\d$/);
  expect(await sold.getAttribute('title')).toMatch(/^redlock, 1-stopped: sold on; longest time/);
  expect(await cells.count()).toBe(2);
  expect(await textOf(report, '[data-judged]')).toBe('Seen ✓ as expected '); // Promises broke.
}, 360_000);

test('a drill is begun in the page once it is predicted, shown while it runs, and reported', async () => {
  const tab = await page.open('/drills');
  await tab.locator('[data-drill=script-flush]').click();
  expect(new URL(tab.url()).pathname).toBe('/run/drill/script-flush');
  await tab.goto(`http://${page.host}/run/drill/script-flush?minutes=0.05`);
  await tab.locator('[data-predict=held]:not([disabled])').waitFor();
  await tab.keyboard.press('1');
  await tab.locator('[data-told=fault]').first().waitFor(slowly);
  await tab.locator('[data-judged=held]').waitFor({ timeout: 240_000 });
  expect(await textOf(tab, '[data-judged]')).toMatch(/you were right/);
  expect(await textOf(tab, '.numbers')).not.toBe('');
  await tab.locator('[data-report]').waitFor(slowly);
}, 480_000);
