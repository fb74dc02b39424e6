/** The recorded runs of the README: one file each, without a server and without a network. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTab, startBrowser } from '../support/page.ts';

const root = new URL('../../', import.meta.url);
const replays = new URL('docs/replays/', root);
const files = readdirSync(replays);
const bytesMax = 300_000;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

test.each(files)('%s opens from disk without a network, and says how it ended', async (file) => {
  const tab = await openTab(browser, new URL(file, replays).href, { isOffline: true });
  await tab.locator('[data-judged], [data-outcome], [data-says]').first().waitFor();
  expect(await tab.locator('[data-connection=recorded]').count()).toBe(1);
  expect(statSync(new URL(file, replays)).size).toBeLessThan(bytesMax);
});

test.each(['README.md', 'README.zh-CN.md'])('%s links every one of them', (readme) => {
  const text = readFileSync(new URL(readme, root), 'utf8');
  const linked = [...text.matchAll(/\(docs\/replays\/([a-z-]+\.html)\)/g)].map(([, name]) => name);
  expect(linked.toSorted()).toEqual(files.toSorted());
});
