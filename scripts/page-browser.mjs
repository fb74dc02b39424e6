// A lab with its page, and Debian's Chromium in front of it, for the figures and the screenshots.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('../', import.meta.url));
const executablePath = '/usr/bin/chromium';
const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
];

if (!existsSync(executablePath)) {
  console.error('Chromium is missing: npm run setup -- --with-chromium');
  process.exit(2);
}

const lockstep = (...words) =>
  execFileSync(process.execPath, [`${root}dist/cli/lockstep.js`, ...words], {
    encoding: 'utf8',
    env: { ...process.env, LOCKSTEP_LAB: `${root}.lockstep/page` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** A tab with a session, at this path of the page. */
async function openTab(browser, path, options) {
  const { origin, hash } = new URL(JSON.parse(lockstep('page', '--json')).address);
  const viewport = { width: 1280, height: 720 };
  const context = await browser.newContext({ viewport, locale: 'en-US', ...options });
  const tab = await context.newPage();
  await tab.goto(`${origin}${path}${hash}`);
  return tab;
}

/** Predicts, so that the play begins. */
export async function begin(tab) {
  await tab.locator('[data-predict=one]').click();
  await tab.locator('[data-still=true]').waitFor();
}

export async function choose(tab, lanes) {
  for (const lane of lanes) {
    const count = await tab.locator('button.step').count();
    await tab.keyboard.press(lane);
    await tab.locator('button.step').nth(count).waitFor();
    await tab.locator('[data-still=true]').waitFor();
  }
}

/** @param work gets a function that opens a tab, and one that runs a command in the same lab */
export async function withPage(work) {
  const browser = await chromium.launch({ executablePath, args });
  try {
    await work((path, options) => openTab(browser, path, options), lockstep);
  } finally {
    await browser.close();
    lockstep('down');
  }
}

/** Of measured values: the least one that this share of them does not pass. */
export const percentile = (values, share) =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1];
