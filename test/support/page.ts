/** A page of the lab: in Debian's Chromium, without a window, or asked without a browser. */

import { once } from 'node:events';
import { type Browser, chromium, type Page } from 'playwright-core';
import { request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { freePorts } from '../../src/lab/environment/ports.ts';
import { choicesIn } from '../../src/lab/play/letters.ts';
import { addressWithKey } from '../../src/page/access.ts';
import { servePage } from '../../src/page/server/app.ts';
import type { Plays } from '../../src/page/server/plays.ts';
import type { Runs } from '../../src/page/server/runs.ts';
import { ownLab } from './own-lab.ts';

const options = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];
const projector = { width: 1280, height: 720 };
const phone = { width: 390, height: 844 };

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: options });

export interface Opened {
  readonly language?: string;
  readonly isOffline?: boolean;
  /** The test expects errors in the console. */
  readonly mayFail?: boolean;
  /** Of several tests: called with what closes the tab. Without it, the test that opens it does. */
  readonly atEnd?: (close: () => Promise<void>) => void;
}

export async function openTab(
  browser: Browser,
  address: string,
  { language = 'en-US', isOffline = false, mayFail = false, atEnd = onTestFinished }: Opened = {},
): Promise<Page> {
  const context = await browser.newContext({
    ...{ viewport: projector, locale: language, offline: isOffline },
  });
  context.setDefaultTimeout(90_000); // On a slow machine: it ends a wait that would never end.
  const tab = await context.newPage();
  const errors: string[] = [];
  if (!mayFail) {
    tab.on('pageerror', (error) => errors.push(String(error)));
    tab.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  }
  atEnd(async () => {
    const seen = [...errors]; // A context that closes refuses what is still under way.
    await context.close();
    expect(seen).toEqual([]);
  });
  await tab.goto(address);
  return tab;
}

/** As any program may. @returns the status, the cookie that was set, and what the answer says */
export async function ask(
  url: string,
  headers: Record<string, string>,
  body?: object,
  method: 'GET' | 'POST' | 'DELETE' = body ? 'POST' : 'GET',
) {
  const answer = await request(url, {
    ...{ method, headers: { 'content-type': 'application/json', ...headers } },
    ...(body && { body: JSON.stringify(body) }),
  });
  const set = String(answer.headers['set-cookie'] ?? '');
  const told = (await answer.body.json().catch(() => ({}))) as { player?: string };
  return { status: answer.statusCode, set, cookie: set.split(';')[0] ?? '', ...told };
}

export const textOf = (tab: Page, selector: string) => tab.locator(selector).first().textContent();

/** @returns how many pixels the page is wider than a phone: then it scrolls sideways */
export async function widerThanAPhone(tab: Page): Promise<number> {
  await tab.setViewportSize(phone);
  // A chart is drawn anew for the width a moment later.
  const fits = () => document.documentElement.scrollWidth <= innerWidth;
  await tab.waitForFunction(fits, undefined).catch(() => {});
  return tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

/** @returns how many pixels of the page are not on the projector, in each direction */
export async function beyondTheProjector(tab: Page): Promise<number[]> {
  await tab.setViewportSize(projector);
  // The lanes are drawn anew for the width a moment later.
  const fits = () => document.documentElement.scrollHeight <= innerHeight;
  await tab.waitForFunction(fits, undefined).catch(() => {});
  return tab.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth - innerWidth, scrollHeight - innerHeight];
  });
}

/** By the keys, each when the page says that it can be chosen. */
export async function choose(tab: Page, choices: string): Promise<void> {
  for (const choice of choicesIn(choices) ?? []) {
    const count = await tab.locator('button.step').count();
    for (const key of choice) await tab.keyboard.press(key);
    await tab.locator('button.step').nth(count).waitFor();
    await tab.locator('[data-back]:not([disabled])').waitFor();
  }
}

const { folder } = ownLab;

class LivePage {
  port = 0;
  browser!: Browser;
  plays!: Plays;
  runs!: Runs;
  readonly #runsFolder: string;
  #close = async () => {};

  constructor(runsFolder: string) {
    this.#runsFolder = runsFolder;
  }

  get host(): string {
    return `lab-test.localhost:${this.port}`;
  }

  async start(): Promise<void> {
    const { host, port } = this;
    const runsFolder = this.#runsFolder;
    const { plays, runs, door, server } = servePage({ folder, runsFolder, host, port });
    await once(server, 'listening');
    this.plays = plays;
    this.runs = runs;
    this.#close = async () => {
      await door.close();
      await Promise.all([plays.leave(), runs.stop()]);
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    };
  }

  stop(): Promise<void> {
    return this.#close();
  }

  /** @returns the address of a path, with a key that is used once */
  async keyed(path = '/'): Promise<string> {
    const { origin, hash } = new URL(await addressWithKey(folder, `http://${this.host}`));
    return `${origin}${path}${hash}`;
  }

  /** The page, at a path, with a session. */
  async open(path: string, more: Opened = {}): Promise<Page> {
    const tab = await openTab(this.browser, await this.keyed(path), more);
    await tab.locator('[data-connection=open]').waitFor();
    return tab;
  }
}

/** For the tests of a file. @param runsFolder where the reports of its runs are kept */
export function livePage(preferredPort: number, runsFolder = ''): LivePage {
  const page = new LivePage(runsFolder);
  beforeAll(async () => {
    page.port = await freePorts(preferredPort);
    page.browser = await startBrowser();
    await page.start();
  });
  afterAll(async () => {
    await page.browser.close();
    await page.stop();
  });
  return page;
}
