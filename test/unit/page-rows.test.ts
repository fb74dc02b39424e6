/** What the build tells the page of the ladder: it shows real lines, and the counts of the docs. */
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type RaceName, schedules } from '../../src/lab/play/schedules.ts';
import { rungsWithOrders } from '../../src/lab/play/set-up.ts';
import { outageFaults, safetyFaults } from '../../src/lab/scoreboard/columns.ts';
import type { Source } from '../../src/page/client/built-rows.ts';
import type { PlayView, Row } from '../../src/page/client/play-model.ts';
import { rungNames } from '../../src/service/ladder/rungs.ts';
import { built } from '../support/built-rows.ts';

const { ladderRows: rows, scoreTable } = built;

test('the page has every rung of the ladder, in its order', () => {
  expect(rows.map(({ name }) => name)).toEqual(rungNames);
});

test('every place at which a buyer stops has its source line, and the line is there', () => {
  const missing: string[] = [];
  for (const { name, sources } of rows)
    for (const [stop, source] of Object.entries(sources))
      if (source) expect(lineOf(source), `${name}, ${stop}`).toContain(source.lines[source.mark]);
      else missing.push(`${name} ${stop}`);
  // Their purchase looks and writes in one statement: nobody stops there.
  expect(missing).toEqual(['stock-positive after-check', 'redis-semaphore-stock after-check']);
});

test('a lock is shown at the line that asks for it', () => {
  const lines = rows.flatMap(({ name, sources }) => {
    const source = sources['after-acquire'];
    return source ? [`${name}: ${source.lines[source.mark]?.trim()}`] : [];
  });
  expect(lines).toContainEqual(
    expect.stringMatching(/^redis-atomic: .*redis\.set\(key, owner, 'PX'/),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^mutex-per-user: .*locked\(entry\.mutex/));
});

test('every rung of which all orders are played has the count of orders that docs/races.md has', () => {
  const counted = rows.filter(({ orders }) => orders).map(({ name }) => name);
  const cure = 'npx lockstep race --all-orders && npx lockstep docs';
  expect(counted, cure).toEqual(rungsWithOrders);
  const mutex = rows.find(({ name }) => name === 'mutex-per-user');
  expect(mutex?.orders).toEqual({ orders: 20, broken: 12 });
});

const lineOf = ({ file, line }: Source): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n')[line - 1] ?? '';

test('the scoreboard has every cell that docs/scoreboard.md has, and each cell the race that plays it', () => {
  const { faults, outages, rows: scored } = scoreTable;
  const text = readFileSync(new URL('../../docs/scoreboard.md', import.meta.url), 'utf8');
  const played = Number(/(\d+) cells played/.exec(text)?.[1]);
  const cells = scored.flatMap((row) => [...row.safety, ...row.outages]).filter(Boolean);
  expect(cells).toHaveLength(played);
  expect(faults).toEqual(safetyFaults);
  expect(outages).toEqual(outageFaults.map(({ name }) => name));
  const redlock = scored.find(({ rung }) => rung === 'redlock');
  const cell = redlock?.safety[faults.indexOf('restart-empty')];
  expect(cell).toEqual({ mark: '✗1', race: 'restart-empty' });
  for (const row of scored)
    for (const [index, { race } = { race: '' }] of row.safety
      .map((each) => each ?? undefined)
      .entries())
      if (race)
        expect(schedules[race as RaceName].under, `${row.rung} ${race}`).toBe(faults[index]);
});

test('the rows that the page is built from are those of the tables in docs', () => {
  const docs = (path: string) =>
    readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');
  const [scores, races, costs] = ['scoreboard.md', 'races.md', 'benchmarks/bench-ladder.txt'].map(
    docs,
  );
  for (const row of JSON.parse(docs('data/scoreboard.json'))) {
    const cells = (marks: object) => Object.values(marks).join(' | ');
    expect.soft(scores).toContain(`| \`${row.rung}\` | ${cells(row.safety)} |`);
    expect.soft(scores).toContain(` | ${cells(row.outages)} |`);
  }
  for (const { rung, one, orders, broken } of JSON.parse(docs('data/orders.json')))
    if (broken > 0)
      expect.soft(races).toContain(`| \`${rung}\` | ${one} | ${orders} | ${broken} |`);
    else expect.soft(races).toMatch(new RegExp(`^- none of ${orders} breaks .*\`${rung}\``, 'm'));
  for (const { rung, salesPerSecond } of JSON.parse(docs('data/sales.json')))
    expect.soft(costs).toMatch(new RegExp(`^${rung} +${salesPerSecond} `, 'm'));
});

test('the reason is that of what was done: nobody listened, or it was heard and lost', async () => {
  const { reasonOf } = await import('../../src/page/client/faults.ts');
  const reasonAfter = (choices: string[], rows: Partial<Row>[]) => {
    const taken = choices.map((choice) => ({ choice, isTaken: true }));
    const of = { rung: 'redis-pubsub', choices: taken, rows } as unknown as PlayView;
    return reasonOf(of, 'no-lost-orders');
  };
  const stands = { lane: 'W', kind: 'at' } as const; // The worker, with the order.
  expect(reasonAfter(['SW', 'A', 'A', 'HW'], [])).toBe('nobody-listened');
  expect(reasonAfter(['A', 'A', 'XW'], [stands])).toBe('heard-and-lost');
});

test('what a tab remembers stays when another tab, opened before it, remembers more', async () => {
  const store = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => store.get(name) ?? null,
    setItem: (name: string, text: string) => void store.set(name, text),
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const { known, rememberVerdict } = await import('../../src/page/client/predictions.ts');
  const ofOtherTab = ['mutex-per-user', { seen: 'two', isBroken: true }];
  store.set('lockstep-predictions', JSON.stringify([ofOtherTab]));
  rememberVerdict('drill-flood', 'held');
  const all = [ofOtherTab, ['drill-flood', { verdict: 'held' }]];
  expect(JSON.parse(store.get('lockstep-predictions') ?? '')).toEqual(all);
  expect([...known.value]).toEqual(all);
  store.set('lockstep-predictions', '{'); // By another page from the disk.
  rememberVerdict('drill-soak', 'held');
  expect([...known.value]).toEqual([...all, ['drill-soak', { verdict: 'held' }]]);
});
