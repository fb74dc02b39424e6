// `npm run oracle`: plays the ladder whole and compares what came out with test/oracle.json: each
// verdict of the demo, count of orders, cell of the scoreboard, clause of a lock, test that turns a
// mutant red, and error. A change of the project's shape changes none of them. It takes an hour; a
// part can be named. The commands that repeat a run are in test/unit/repeat-commands.test.ts.
// Usage: node scripts/oracle.mjs [--update] [PART...]
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import './on-node.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const oracleFile = join(root, 'test/oracle.json');
const runs = mkdtempSync(join(tmpdir(), 'lockstep-oracle-'));

const parts = {
  errors: () => Object.fromEntries(['service', 'lab'].flatMap(errorsOf).toSorted()),
  demo: () => {
    const { runs, serial, orders, races } = lockstep('demo', '--json');
    return {
      rushes: byName([...runs, ...serial], rushName, verdictOf),
      orders: byName(
        orders,
        ({ rung }) => rung,
        (each) => [each.orders, each.broken.length],
      ),
      races: byName(races, ({ race, rung }) => `${race} on ${rung}`, verdictOf),
    };
  },
  scoreboard: () =>
    byName(
      lockstep('scoreboard', '--json').cells,
      ({ rung, fault }) => `${rung}, ${fault}`,
      cellOf,
    ),
  conformance: () =>
    byName(
      JSON.parse(run(process.execPath, ['scripts/conformance.mjs', '--json'])),
      ({ subject }) => subject,
      ({ results }) =>
        byName(
          results,
          ({ clause }) => clause,
          ({ verdict }) => verdict,
        ),
    ),
  mutants: () => testsOf('mutants'),
};

const verdictOf = ({ verdict, asClaimed, isAsClaimed }) =>
  (asClaimed ?? isAsClaimed) === false ? `${verdict}, not as claimed` : verdict;
const rushName = ({ rung, instances, balancer, retries }) =>
  `${rung} on ${instances} behind ${balancer}${retries ? `, ${retries} retries` : ''}`;
const cellOf = ({ outcome, asClaimed }) => `${outcome}, as claimed: ${asClaimed}`;

/** A name that is there twice has both values, where they differ. */
function byName(rows, nameOf, valueIn) {
  const named = {};
  for (const row of rows) {
    const [name, value] = [nameOf(row), valueIn(row)];
    const isOther = name in named && named[name] !== value;
    named[name] = isOther ? `${named[name]}; ${value}` : value;
  }
  return named;
}

function run(program, args) {
  const { stdout } = spawnSync(program, args, {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 },
    env: { ...process.env, LOCKSTEP_RUNS: runs },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return stdout;
}

const lockstep = (...args) => JSON.parse(run(process.execPath, ['dist/cli/lockstep.js', ...args]));

/** The state of each test of a project, by its name: that of a mutant names what must fail. */
function testsOf(project) {
  const report = join(runs, 'vitest.json');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', project];
  run(process.execPath, [...vitest, '--reporter', 'json', '--outputFile', report]);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return byName(
    tests,
    ({ fullName }) => fullName,
    ({ status }) => status,
  );
}

/** The texts of a code, in a row or a class; a number or a name in them is `…`. */
function errorsOf(part) {
  const source = readFileSync(join(root, `src/${part}/errors.ts`), 'utf8');
  const all = source.matchAll(
    /^export class \w+[\s\S]*?^}|^ {2}[A-Z\d_]+: \([\s\S]*?(?=^ {2}[A-Z/]|^}|\n\n)/gm,
  );
  return [...all].flatMap(([text]) => {
    const code = /^ {2}([A-Z\d_]+):|'([A-Z\d_]+)'/m.exec(text)?.slice(1).find(Boolean);
    const texts = [...text.matchAll(/`([^`]*)`|'([^'\n]* [^'\n]*)'/g)];
    const sentence = texts.map(([, template, plain]) => template ?? plain).join(' | ');
    return code ? [[code, sentence.replaceAll(/\$\{[^}]*\}/g, '…')]] : [];
  });
}

const shown = (value) => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60));

/** The paths at which two values differ. */
function differences(before, after, path = '') {
  if (typeof before !== 'object' || typeof after !== 'object' || !before || !after)
    return before === after ? [] : [`${path}: ${shown(before)} before, ${shown(after)} now`];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], `${path} › ${key}`));
}

const isUpdate = process.argv.includes('--update');
const named = process.argv.slice(2).filter((each) => each !== '--update');
const chosen = named.length > 0 ? named : Object.keys(parts);
const unknown = chosen.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`There is no part "${unknown[0]}". There are: ${Object.keys(parts).join(', ')}.`);
  process.exit(2);
}

const before = JSON.parse(readFileSync(oracleFile, 'utf8'));
const after = { ...before };
for (const name of chosen) {
  console.error(`${name} …`);
  after[name] = parts[name]();
}
rmSync(runs, { recursive: true, force: true });
if (isUpdate) writeFileSync(oracleFile, `${JSON.stringify(after, null, 1)}\n`);
const changed = differences(before, after);
console.log(changed.length === 0 ? 'as before' : changed.join('\n'));
process.exit(changed.length === 0 || isUpdate ? 0 : 1);
