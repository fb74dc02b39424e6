// How fast the page is, in Chromium on a real lab. Usage: npm run page-figures
// Each figure is beside its limit. Exit code: 1 when one is above it.
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { begin, withPage } from './page-browser.mjs';
import { percentile } from './percentile.mjs';

const rounds = 12;
const recordedEvents = 10_000;
let isAbove = false;

function print(name, values, share, limitMs) {
  const value = percentile(values, share);
  isAbove ||= value > limitMs;
  const columns = [name.padEnd(44), `p50 ${percentile(values, 0.5).toFixed(1)}`.padEnd(11)];
  const verdict = value > limitMs ? 'ABOVE' : 'below';
  console.log(`${columns.join('')}p${share * 100} ${value.toFixed(1)} ms, ${verdict} ${limitMs}`);
}

/** Presses a key. @returns when the page changed first, and when it was as wanted and drawn */
const pressed = (tab, key, wanted) =>
  tab.evaluate(
    ([key, wanted]) =>
      new Promise((resolve) => {
        const startedAt = performance.now();
        const steps = document.querySelectorAll('button.step').length;
        const waits = document.querySelectorAll('g[data-kind=waits]').length;
        let first;
        const isThere = {
          still: () => document.querySelectorAll('button.step').length > steps,
          back: () => document.querySelectorAll('button.step').length < steps,
          wait: () => document.querySelectorAll('g[data-kind=waits]').length > waits,
        }[wanted];
        const isStill = () => document.querySelector('main').dataset.still === 'true';
        const observer = new MutationObserver(() => {
          first ??= performance.now() - startedAt;
          if (!isThere() || (wanted !== 'wait' && !isStill())) return;
          observer.disconnect();
          requestAnimationFrame(() =>
            setTimeout(() => resolve({ first, all: performance.now() - startedAt })),
          );
        });
        const all = { subtree: true, childList: true, attributes: true, characterData: true };
        observer.observe(document.body, all);
        dispatchEvent(new KeyboardEvent('keydown', { key }));
      }),
    [key, wanted],
  );

async function measurePlays(open) {
  const tab = await open('/race/mutex-per-user');
  await begin(tab);
  const [first, step, back] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    for (const lane of 'AABBAB') {
      const times = await pressed(tab, lane, 'still');
      first.push(times.first);
      step.push(times.all);
    }
    for (let count = 0; count < 6; count++)
      back.push((await pressed(tab, 'Backspace', 'back')).all);
  }
  print('a key to the first change of the page', first, 0.95, 50);
  print('a step, until nothing moves and it is drawn', step, 0.95, 100);
  print('back by one, on a fresh voucher', back, 0.95, 500);
}

async function measureWaits(open, rung, lock) {
  const tab = await open(`/race/${rung}?do=A`);
  await begin(tab);
  const waits = [];
  for (let round = 0; round < rounds; round++) {
    waits.push((await pressed(tab, 'B', 'wait')).all);
    await tab.locator('[data-still=true]').waitFor();
    await pressed(tab, 'Backspace', 'back');
  }
  print(`a wait for ${lock}, with its reason`, waits, 0.95, 100);
}

/** A replay of so many events: its cursor jumps, and each frame is timed. */
async function measureScrubbing(open, lockstep) {
  const { folder } = JSON.parse(
    lockstep('race', '--choices', 'AABBAB', '--rung', 'mutex-per-user', '--json'),
  );
  const html = readFileSync(join(folder, 'replay.html'), 'utf8');
  const [, json] = /id="recorded">(.*?)<\/script>/s.exec(html);
  const events = JSON.parse(json);
  const many = Array.from({ length: recordedEvents }, (_, index) => {
    const play = Math.floor(index / events.length);
    const event = events[index % events.length];
    return { ...event, number: index + 1, player: `${event.player}-${play}` };
  });
  const file = join(tmpdir(), 'lockstep-page-figures.html');
  writeFileSync(
    file,
    html.replace(json, () => JSON.stringify(many)),
  );
  const tab = await open('/');
  await tab.goto(`file://${file}`);
  await tab.locator('.cursor input').waitFor();
  const frames = await tab.evaluate(async () => {
    const cursor = document.querySelector('.cursor input');
    const frame = () => new Promise(requestAnimationFrame);
    const works = [];
    for (let index = 0; index < 300; index++) {
      const startedAt = performance.now();
      cursor.value = String(1 + Math.floor(Math.abs(Math.sin(index * 1.7)) * Number(cursor.max)));
      cursor.dispatchEvent(new Event('input', { bubbles: true }));
      await Promise.resolve();
      document.body.getBoundingClientRect(); // The layout belongs to it.
      works.push(performance.now() - startedAt);
      await frame();
    }
    return works;
  });
  print(`a jump in ${recordedEvents} events, with its layout`, frames, 0.99, 16);
}

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The page that nobody looks at, once V8 has tidied up behind the plays. */
async function measureIdle(lockstep) {
  await rest(20_000);
  const { servers } = JSON.parse(lockstep('status', '--json'));
  const { pid } = servers.find(({ name }) => name === 'page');
  const ticks = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
  };
  const before = ticks();
  await rest(10_000);
  const usedMs = (ticks() - before) * 10;
  print('processor time of a closed page, in 10 s', [usedMs], 0.99, 50);
}

await withPage(async (open, lockstep) => {
  await measurePlays(open);
  await measureWaits(open, 'redis-atomic', 'a lock');
  await measureWaits(open, 'row-lock', 'a row');
  const tab = await open('/race/redis-atomic');
  await begin(tab);
  await tab.locator('[data-give-back]').click();
  await tab.locator('[data-play]').waitFor();
  await measureScrubbing(open, lockstep);
  for (const context of tab.context().browser().contexts()) await context.close();
  await measureIdle(lockstep);
});
process.exitCode = isAbove ? 1 : 0;
