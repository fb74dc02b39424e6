// Bundles the page of the lab into dist/page/client/. It runs behind the compiler, because the
// page shows the ladder: its rows, their source lines, and how many orders break each of them.
// Usage: node scripts/page.mjs
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { drillNames, drills } from '../dist/lab/drills/drills.js';
import { raceNames, schedules } from '../dist/lab/play/schedules.js';
import { canAim, saleOf, serverFaultsOf, stopsOf } from '../dist/lab/play/set-up.js';
import {
  outageFaults,
  racesOf,
  safetyFaults,
  scoredRungs,
} from '../dist/lab/scoreboard/columns.js';
import { claimOf, showsInRush } from '../dist/service/ladder/rung.js';
import { rungNamed, rungNames } from '../dist/service/ladder/rungs.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const from = `${root}src/page/client`;
const to = `${root}dist/page/client`;
const bytesMax = 101_000;

const read = (path) => readFileSync(`${root}${path}`, 'utf8');

/** The line at which a lock asks for its lease. */
const asks = new RegExp(
  [
    ...[/redis\.set\(/, /redis\.setnx\(/, /leases\.attempt\(/, /redlock\.lock\(/, /locked\(entry/],
    ...[/zookeeperQueueLock\(/, /lock\.acquire\(/, /withFence\(/, /\?\? new Mutex\(/],
  ]
    .map(({ source }) => source)
    .join('|'),
);
const linesAround = { before: 3, after: 4 };

function lockFile(name) {
  const { lock, lockService, lockOf = name } = rungNamed(name);
  if (!lock) return null;
  const own = [lockOf, name]
    .map((each) => `src/service/locks/${each}.ts`)
    .find((path) => has(path));
  return own ?? (lockService ? null : 'src/service/locks/process-mutex.ts');
}
const has = (path) => existsSync(`${root}${path}`);

function inventoryFile(name) {
  const own = { 'mutex-inside-transaction': 'lock-inside-transaction' }[name] ?? name;
  const path = `src/service/inventory/${own.replace('mutex-', '')}.ts`;
  const fenced = name.startsWith('fenced') ? 'src/service/inventory/fenced-insert.ts' : null;
  return fenced ?? (has(path) ? path : 'src/service/inventory/check-then-insert.ts');
}

/** The real lines around the place at which a lane stands. */
function source(path, isPlace) {
  if (path === null) return null;
  const lines = read(path).split('\n');
  const begin = lines.findIndex((line) => /^ \*\/|^import/.test(line));
  const index = lines.findIndex((line, at) => at > begin && !/^import/.test(line) && isPlace(line));
  if (index < 0) return null;
  const first = Math.max(0, index - linesAround.before);
  const shown = lines.slice(first, index + linesAround.after + 1);
  const indent = Math.min(...shown.filter(Boolean).map((line) => line.search(/\S/)));
  return {
    file: path,
    line: index + 1,
    mark: index - first,
    lines: shown.map((line) => line.slice(indent)),
  };
}

const claimFile = 'src/service/inventory/claim-then-queue.ts';
const workerFile = 'src/service/orders/work-orders.ts';

function sourcesOf(name) {
  const atStop = (stop) => (line) => line.includes(`'${stop}'`);
  const places = {
    'after-acquire': source(lockFile(name), (line) => asks.test(line)),
    'after-check': source(inventoryFile(name), atStop('after-check')),
    'before-commit': source('src/service/inventory/shared/sql-sale.ts', atStop('before-commit')),
    claimed: rungNamed(name).chapter === 5 ? source(claimFile, atStop('claimed')) : null,
    delivered: source(workerFile, atStop('delivered')),
    recorded: source(workerFile, atStop('recorded')),
  };
  return Object.fromEntries(stopsOf(name).map((stop) => [stop, places[stop]]));
}

/** Of docs/data/, which `lockstep docs` writes: by the rung. */
const published = (file) =>
  new Map(JSON.parse(read(`docs/data/${file}.json`)).map(({ rung, ...row }) => [rung, row]));

function racesOn(rung) {
  return raceNames
    .filter((name) => schedules[name].rung === rung)
    .map((name) => {
      const { title, next, byHand } = schedules[name];
      return { name, next, title, byHand };
    });
}

const ordersOf = ({ orders, broken }) => ({ orders, broken });

function ladderRows() {
  const [counted, sales] = ['orders', 'sales'].map(published);
  return rungNames.map((name) => {
    const rung = rungNamed(name);
    const breaks = claimOf(rung, 2).breaks.map(({ check, because }) => ({ check, because }));
    const faults = rung.breaks
      .filter(({ under }) => !showsInRush(under, 2))
      .map(({ under, check, because }) => ({ under, check, because }));
    return {
      ...{ name, chapter: rung.chapter, breaks, faults, canAim: canAim(name), ...sales.get(name) },
      ...{ hasLock: rung.lock !== undefined, sale: saleOf(name) },
      lockServers: rung.lockService?.servers ?? [],
      serverFaults: serverFaultsOf(name),
      lockNeeded: rung.lockService?.needed ?? 0,
      races: racesOn(name),
      sources: sourcesOf(name),
      ...(counted.has(name) && { orders: ordersOf(counted.get(name)) }),
    };
  });
}

/** What was published. */
function scoreTable() {
  const marks = published('scoreboard');
  const outages = outageFaults.map(({ name }) => name);
  const races = racesOf({ rungs: scoredRungs, faults: safetyFaults });
  const raceOf = (rung, fault) =>
    races.find((race) => race.rung === rung && race.fault === fault)?.race;
  const rows = scoredRungs.map((rung) => ({
    rung,
    safety: safetyFaults.map((fault) => {
      const [mark, race] = [marks.get(rung)?.safety[fault], raceOf(rung, fault)];
      return mark && race ? { mark, race } : null;
    }),
    outages: outages.map((outage) => marks.get(rung)?.outages[outage] ?? ''),
  }));
  return { faults: safetyFaults, outages, rows };
}

/** @returns what the page has of the lab's tables (src/page/client/built-rows.ts) */
export const builtRows = () => ({
  ladderRows: ladderRows(),
  drillRows: drillNames.map((name) => ({ name, about: drills[name].about })),
  scoreTable: scoreTable(),
});

async function bundle() {
  process.env.NODE_ENV = 'production'; // Set-up may run inside a test, which has another.
  await build({
    ...{ root: from, configFile: false, logLevel: 'warn' },
    define: { BUILT: JSON.stringify(builtRows()) },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      ...{ outDir: to, emptyOutDir: true, target: ['chrome110', 'firefox115'] },
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: { page: `${from}/main.tsx`, slides: `${from}/slides.ts` },
        output: { entryFileNames: '[name].js' },
      },
    },
  });
  copyFileSync(`${from}/index.html`, `${to}/index.html`);
  const charts = read('node_modules/uplot/dist/uPlot.min.css');
  const style = `${read('src/page/client/page.css')}${charts}`;
  writeFileSync(`${to}/page.css`, style);
  const script = readFileSync(`${to}/page.js`, 'utf8');
  const bytes = packed(script).length;
  if (bytes > bytesMax) throw new Error(`page.js has ${bytes} bytes gzipped: ${bytesMax} at most`);
  writeFileSync(`${to}/page.packed`, packed(addStyle(style) + script).toString('base64'));
}

const packed = (text) => gzipSync(text, { level: 9 });

/** The files that replay a run have no other one beside them. */
const addStyle = (style) =>
  `document.head.append(Object.assign(document.createElement('style'),{textContent:${JSON.stringify(style)}}));`;

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle();
