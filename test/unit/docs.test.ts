/** The documents are true: fresh tables, and commands, scripts and links that exist. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import type { AddCommand } from '../../src/cli/command.ts';
import { helpWords } from '../../src/cli/help.ts';
import { scriptOf } from '../../src/lab/by-hand/fault-script.ts';
import { raceNames } from '../../src/lab/play/schedules.ts';
import { rungsWithOrders } from '../../src/lab/play/set-up.ts';
import {
  courseTables,
  drillList,
  generatedParts,
  publishedRows,
  recordedFiles,
  replaceParts,
  tableParts,
} from '../../src/lab/report/docs.ts';
import { raceMarkdown } from '../../src/lab/report/ladder-tables.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import { docsPages } from '../../src/page/server/docs-pages.ts';
import { saleKeys } from '../../src/service/connections/sale-keys.ts';
import { circumstances } from '../../src/service/ladder/rung.ts';
import { rungNames } from '../../src/service/ladder/rungs.ts';
import { checkpointNames } from '../../src/service/trace/checkpoints.ts';
import { type Language, languages } from '../../src/texts/texts.ts';
import { someFolder } from '../support/basics.ts';
import { shellWords } from './terminal.ts';

/** Told when a generated part is not as its table. */
const cure = 'npx lockstep docs';
const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`);

const documents = [
  ...['README.md', 'README.zh-CN.md', 'CONTRIBUTING.md', 'k6/README.md'],
  ...filesIn('docs', '.md'),
];
const sources = ['src', 'scripts'].flatMap((folder) =>
  ['.ts', '.mjs'].flatMap((ending) => filesIn(folder, ending)),
);
const app = docsPages();
async function served(path: string): Promise<{ status: number; body: string }> {
  const answer = await app.request(path);
  return { status: answer.status, body: await answer.text() };
}
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** Not the program itself: it begins when it is imported. */
const commandFiles = filesIn('src/cli', '.ts').filter((file) => !file.endsWith('/lockstep.ts'));
const folders = { labFolder: '', runsFolder: '', program: '', workshopHome: '' };

/** The command line, with every action replaced by nothing. */
async function commandLine(language: Language = 'en'): Promise<Command> {
  const program = new Command('lockstep')
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp({ ...helpWords[language].layout, helpWidth: 80 })
    .configureOutput({ writeErr: () => {} });
  for (const file of commandFiles) {
    const module = (await import(new URL(file, root).pathname)) as Record<string, AddCommand>;
    for (const [name, add] of Object.entries(module))
      if (name.startsWith('add')) add(program, folders, language);
  }
  for (const command of program.commands)
    for (const each of [command, ...command.commands]) each.action(() => {});
  return program;
}
const program = await commandLine();
const commandNames = program.commands.map((command) => command.name());
const optionsOf = (name: string): (string | undefined)[] => [
  '--help',
  ...(program.commands.find((command) => command.name() === name)?.options ?? []).map(
    ({ long }) => long,
  ),
];

/** The words after `npx lockstep`, up to the end of the command. */
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/npx lockstep ([^\n`]*)/g)].map(([, rest = '']) =>
    (rest.split(/ {2,}| #|[;|&)]/)[0] ?? '').replace(/[.,:]$/, '').trim(),
  );

const hasPlaceholder = (command: string): boolean => /[<>[\]…]|\.\.\.|\$\{/.test(command);

const rowAdded = /^\s*'([a-z-]+)': (?:rung\()?\{/gm;
const fileAdded = /\(examples\/contributing\/(?:cli|lab\/drills)\/([a-z-]+)\.ts\)/g;

/** Names that a document shows how to add: rows of rungs and races, commands, and drills. */
const addedIn = (text: string): string[] =>
  [rowAdded, fileAdded].flatMap((added) => [...text.matchAll(added)].map(([, name = '']) => name));

const usualLoad = { arrivals: 'steady', perSecond: 100, minutes: 0.5 } as const;

/** @throws when the command line refuses the words. A name without arguments is a mention. */
function check(command: string, added: readonly string[] = []): void {
  const [name = '', first] = command.split(' ');
  if (name === '--help' || added.includes(name)) return;
  expect(commandNames, command).toContain(name);
  const unquoted = command.replaceAll(/'[^']*'/g, 'quoted');
  for (const [option] of unquoted.matchAll(/--[a-z][a-z-]*/g))
    expect(optionsOf(name), command).toContain(option);
  if (first === undefined || first === '--help' || hasPlaceholder(command)) return;
  const words = shellWords(command);
  // What a document shows how to add is in no table yet.
  if (!words.some((word) => added.includes(word))) program.parse(words, { from: 'user' });
  const [, rung] = /--(?:rung|all-orders|on) ([a-z]\S*)/.exec(command) ?? [];
  const rungs = [name === 'run' || name === 'voucher' ? first : undefined, rung];
  for (const each of rungs.filter((one) => one !== undefined))
    expect([...rungNames, ...added], command).toContain(each);
  const [, faults] = /--faults '(.*?)'/.exec(command) ?? [];
  if (faults) scriptOf(faults, { ...usualLoad, rung: rung ?? '' }, 'mariadb');
  if (name === 'race' && !/--(?:list|choices|all-orders)/.test(command))
    expect([...raceNames, ...added], command).toContain(first);
}

const scriptsIn = (text: string): string[] =>
  [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(test|start)\b)/g)].map(
    ([, run, short]) => run ?? short ?? '',
  );

describe('the commands of the command line', () => {
  test('are read from their files, and their lines are parsed as the command line does', () => {
    expect(commandNames).toEqual(
      expect.arrayContaining(['audit', 'bench-locks', 'run', 'voucher']),
    );
    expect(commandsIn('`npx lockstep run redlock --stock 3` and npx lockstep up; npx')).toEqual([
      'run redlock --stock 3',
      'up',
    ]);
    const own = "drill --on redlock --faults '1 slow redis-2 --ms 5'";
    for (const right of ['run', 'run redlock --stock 3', 'buy <voucher> --user 7', own])
      expect(() => check(right), right).not.toThrow();
    for (const wrong of [
      ...['runs redlock', 'run redlok', 'run redlock twice', 'run redlock --stok 3'],
      ...['run redlock --stock many', 'race lost-updates', 'race lost-update --rung redlok'],
      ...['buy 12', 'buy <voucher> --as 7', "drill --on redlock --faults '1 stop redis-9'"],
    ])
      expect(() => check(wrong), wrong).toThrow();
  });

  test('are all part of the program', () => {
    const main = read('src/cli/lockstep.ts');
    for (const file of commandFiles)
      for (const [, add = ''] of read(file).matchAll(/^export const (add\w+)/gm))
        expect(main).toContain(`(await import('${file.replace(/^src\/cli/, '.')}')).${add},`);
  });
});

test.each(languages)(
  'each command takes --language, and its help fits 80 columns in %s',
  async (language) => {
    const { commands } = await commandLine(language);
    const all = commands.flatMap((each) => [each, ...each.commands]);
    const without = commands.filter(
      ({ options }) => !options.some((each) => each.long === '--language'),
    );
    expect(without.map((each) => each.name())).toEqual([]);
    const lines = all.flatMap((each) => each.helpInformation().split('\n'));
    expect(lines.length).toBeGreaterThan(300);
    expect(lines.filter((line) => columns(line) > 80)).toEqual([]);
  },
);

describe.each(documents)('%s', (path) => {
  test('names only npm scripts that exist', () => {
    for (const script of scriptsIn(read(path))) expect(scripts).toHaveProperty(script);
  });

  test('names only commands that the command line accepts', () => {
    const text = read(path);
    for (const command of commandsIn(text)) check(command, addedIn(text));
  });

  test('is served by the page, and so is each file and heading that it links', async () => {
    const { body } = await served(`/${path}`);
    const links = [...body.matchAll(/(?:href|src)="(?!https?:|mailto:|data:|\/)([^"]+)"/g)];
    if (/\]\((?!https?:|mailto:)/.test(read(path))) expect(links).not.toEqual([]);
    for (const [, link = ''] of links) {
      const { pathname, hash } = new URL(link, new URL(path, 'http://lab/'));
      const linked = await served(pathname);
      expect.soft(`${linked.status} ${link}`).toBe(`200 ${link}`);
      const anchor = decodeURIComponent(hash.slice(1));
      if (anchor) expect.soft(linked.body, link).toContain(`id="${anchor}"`);
    }
  });
});

test('the index names every page', () => {
  const index = read('docs/README.md');
  const pages = filesIn('docs', '.md').map((path) => path.replace('docs/', ''));
  const isPart = (page: string) => /workshop\/(?!README)/.test(page); // The kit has its own index.
  for (const page of pages.filter((each) => each !== 'README.md' && !isPart(each)))
    expect.soft(index).toContain(`(${page})`);
});

/** By their heads: a table is a head, a line of dashes, and its rows. */
const tablesIn = (text: string): string[][] =>
  [...text.replaceAll(/```.*?```/gs, '').matchAll(/^\|.*\n\|[ :|-]+\|\n(?:\|.*\n?)*/gm)].map(
    ([table]) => table.trim().split('\n'),
  );
const cellsOf = (row: string): number => row.replaceAll('\\|', '').split('|').length - 2;

test('every row of a table has the cells of its head', () => {
  for (const path of documents)
    for (const [head = '', , ...rows] of tablesIn(read(path)))
      for (const row of rows)
        expect.soft(`${cellsOf(row)} in ${row}`, path).toBe(`${cellsOf(head)} in ${row}`);
});

test.each(['docs/course.md', 'docs/zh/course.md'])(
  'the figures of %s are those of the recorded benchmark',
  (path) => {
    const [table, text] = [read('docs/benchmarks/bench-ladder.txt'), read(path)];
    const figuresOf = (rung: string) => {
      const [, rate, p50] =
        new RegExp(`^${rung} +(\\d+) +\\S+ +\\d+ +(\\S+)`, 'm').exec(table) ?? [];
      return [Number(rate).toLocaleString('en-US'), p50];
    };
    for (const rung of ['redis-reentrant', 'memory', 'lua-stream'])
      expect.soft(text).toContain(`| \`${rung}\` | ${figuresOf(rung).join(' | ')} |`);
    for (const rung of ['unit-rows', 'merged-commit'])
      expect.soft(text, rung).toContain(figuresOf(rung)[0]);
  },
);

test('the lists of the commands say of each what --help says, in both languages', async () => {
  const lists = ['docs/commands.txt', 'docs/zh/commands.txt'].map(read);
  const dense = (text: string): string => text.replaceAll(/\s+/g, ''); // --help breaks its lines.
  for (const [index, language] of languages.entries()) {
    const list = lists[index] ?? '';
    const isListed = (each: Command) =>
      new RegExp(`^  ${each.name()} `, 'm').test(list) &&
      dense(list).includes(dense(each.description()));
    const missing = (await commandLine(language)).commands.filter((each) => !isListed(each));
    expect(
      missing.map((each) => each.name()),
      cure,
    ).toEqual([]);
  }
});

test('the documents together name commands and scripts', () => {
  const text = documents.map(read).join('\n');
  expect(commandsIn(text).length).toBeGreaterThan(5);
  expect(scriptsIn(text)).toEqual(expect.arrayContaining(['demo', 'test']));
});

test('the programs of the page about the library are the examples that a test runs', () => {
  const examples = filesIn('examples', '.mjs').map((file) => read(file).replace(/^\/\/.*\n/, ''));
  const blocks = [...read('docs/library.md').matchAll(/```js\n(.*?)```/gs)];
  expect(blocks.length).toBe(2);
  for (const [, program] of blocks) expect(examples).toContain(program);
});

test.each(['locks', 'pipeline'])(
  'the page about the library has each export of %s',
  async (entry) => {
    const page = read('docs/library.md');
    const library: object = await import(`../../src/service/exports/${entry}.ts`);
    expect(Object.keys(library).length).toBeGreaterThan(2);
    for (const name of Object.keys(library)) expect.soft(page).toMatch(new RegExp(`\\b${name}\\b`));
  },
);

test('the messages of the program name only scripts and commands that exist', () => {
  const text = sources.map(read).join('\n');
  for (const script of new Set(scriptsIn(text)))
    expect.soft(Object.keys(scripts)).toContain(script);
  const named = [...text.matchAll(/npx lockstep ([a-z][a-z-]*)/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(0);
  for (const name of new Set(named)) expect.soft(commandNames).toContain(name);
});

/** A folder of runs, and what adds a file of one. */
function someRuns() {
  const runs = someFolder();
  const write = (name: string, file: string, text: string) => {
    const folder = join(runs, `2026-01-01T000000Z-${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, file), text);
  };
  return { runs, write };
}

test('each measured table has its place in a document', () => {
  const { runs, write } = someRuns();
  const modes = ['beside', 'saturate', 'locks', 'ladder', 'orders'];
  const names = ['bench', ...modes.map((mode) => `bench-${mode}`)];
  for (const name of names) write(name, 'report.txt', `the table of ${name}\n\nits machine\n`);
  const parts = generatedParts(runs);
  const files = Object.values(recordedFiles(runs));
  expect(files).toEqual(names.map((name) => `the table of ${name}\n\nits machine\n`));
  const pages = ['performance.md', 'benchmarks.md'].map((page) => ({
    text: read(`docs/${page}`),
    own: parts[join(root.pathname, 'docs', page)] ?? {},
  }));
  const shown = names.filter((name) => !/ladder|orders/.test(name)); // These: their files alone.
  expect(pages.flatMap(({ own }) => Object.keys(own))).toEqual(shown);
  const written = pages.map(({ text, own }) => replaceParts(text, own)).join('');
  for (const name of shown) expect(written).toContain(`the table of ${name}\n`);
  const [cost, others] = pages.map(({ own }): Record<string, string> => own);
  expect(cost?.['bench']).toContain('its machine'); // Five paragraphs.
  expect(others?.['bench-locks']).not.toContain('its machine'); // One.
  for (const name of names) expect(written).toContain(`(benchmarks/${name}.txt)`);
});

test('the library page has the table of the conformance, and its file the evidence too', () => {
  const { runs, write } = someRuns();
  const report = 'a table\n\nits marks\n\nits evidence\n\nmeasured here\n';
  write('conformance', 'report.md', report);
  const page = join(root.pathname, 'docs', 'library.md');
  expect(generatedParts(runs)[page]?.['conformance']).toBe('a table\n\nits marks\n\nmeasured here');
  expect(Object.values(recordedFiles(runs))).toEqual([report]);
});

test('the page’s rows in docs/data are those of the newest runs', () => {
  const { runs, write } = someRuns();
  const rows = [['redis-atomic', 'AAB', '6', '2']];
  const tables = [{ title: '', head: [], rows }];
  const figures = { rungs: rungsWithOrders.length };
  write('all-orders', 'result.json', JSON.stringify({ figures, tables }));
  const rungs = [{ rung: 'redis-atomic', acceptedPerSecond: { median: 99.6 } }];
  write('bench-ladder', 'bench.json', JSON.stringify({ rungs }));
  const cell = { rung: 'redlock', fault: 'restart-empty', plays: [] };
  const scoreboard = { runs: [], machine: {}, cells: [cell] };
  write('scoreboard', 'scoreboard.json', JSON.stringify(scoreboard));
  const { 'scoreboard.json': scored, ...published } = publishedRows(runs);
  expect(published).toEqual({
    'orders.json': [{ rung: 'redis-atomic', one: 'AAB', orders: 6, broken: 2 }],
    'sales.json': [{ rung: 'redis-atomic', salesPerSecond: 100 }],
  });
  expect(scored).toContainEqual({
    rung: 'redlock',
    safety: expect.objectContaining({ 'restart-empty': '?', 'waiter-dies': '' }),
    outages: expect.objectContaining({ '1-hung': '' }),
  });
  expect(publishedRows('/no/runs')).toEqual({});
});

describe('the generated tables', () => {
  test('of docs/ladder.md are those of the ladder', () => {
    const text = read('docs/ladder.md');
    expect(replaceParts(text, tableParts()), cure).toBe(text);
    for (const rung of rungNames) expect(text).toContain(`\`${rung}\``);
  });

  test('of docs/races.md are those of the schedules', () => {
    const text = read('docs/races.md');
    expect(replaceParts(text, { races: raceMarkdown() }), cure).toBe(text);
    for (const race of raceNames) expect(text).toContain(`\`${race}\``);
  });

  test.each([
    ['docs/course.md', 'en'],
    ['docs/zh/course.md', 'zh'],
  ] as const)('of %s are those of docs/data/course.json', (path, language) => {
    const text = read(path);
    expect(replaceParts(text, courseTables(language)), cure).toBe(text);
  });

  test('of docs/drills.md are those of the drills', () => {
    const text = read('docs/drills.md');
    expect(replaceParts(text, { drills: drillList() }), cure).toBe(text);
  });

  test('have a place in every file that `npm run docs` writes', () => {
    for (const [file, parts] of Object.entries(generatedParts('/no/runs')))
      expect(() => replaceParts(readFileSync(file, 'utf8'), parts)).not.toThrow();
  });
});

describe('replacing the generated parts of a file', () => {
  const fileOf = (one: string, inChinese = '') =>
    `before\n<!-- one -->\n${one}<!-- /one -->\n<!-- one-zh -->\n${inChinese}<!-- /one-zh -->\nz\n`;
  const file = fileOf('old\nlines\n');
  const again = `${file}the marker <!-- /one --> ends a part\n`;

  test.each([
    ['the text between the markers alone', file, { one: 'new' }, fileOf('new\n')],
    [
      'one whose name begins like another',
      file,
      { 'one-zh': '新' },
      fileOf('old\nlines\n', '新\n'),
    ],
    ['several', file, { 'one-zh': '新', one: 'new' }, fileOf('new\n', '新\n')],
    ['nothing but to the first end marker', again, { one: 'old\nlines' }, again],
    ['dollar signs as they are', file, { one: '$& $1 $$ $`' }, fileOf('$& $1 $$ $`\n')],
    ['nothing', file, {}, file],
  ])('writes %s', (_, text, parts, expected) => {
    expect(replaceParts(text, parts)).toBe(expected);
  });

  test.each(['nothing', '<!-- two -->\nwithout an end\n', 'without a beginning\n<!-- /two -->\n'])(
    'refuses a text without the markers of a part: %j',
    (text) => {
      const refusal = new RangeError('there is no part "two" between markers');
      expect(() => replaceParts(text, { two: 'new' })).toThrow(refusal);
    },
  );
});

test('every rung is named where rungs are chosen', () => {
  const text = read('docs/choosing.md');
  const missing = rungNames.filter((rung) => !text.includes(`\`${rung}\``));
  expect(missing, 'a row of docs/choosing.md, or its list "Not in production"').toEqual([]);
});

test('the READMEs count the rungs', () => {
  const count = rungNames.length;
  expect(read('README.md').match(/\b\d+ (?=ways\b)/g)).toEqual([`${count} `, `${count} `]);
  expect(read('README.zh-CN.md')).toContain(`一共 ${count} 个`);
});

test('every circumstance has its line on the page of the ladder', () => {
  const [, section = ''] = read('docs/ladder.md').split('## The circumstances\n');
  const [table = ''] = section.split('\n## ');
  const named = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name);
  expect(named.sort(), cure).toEqual(Object.keys(circumstances).sort());
});

test('every checkpoint has its line on the page of the races, and every key on that of the design', () => {
  const [races, design] = ['races', 'design'].map((page) => read(`docs/${page}.md`));
  for (const name of checkpointNames)
    expect.soft(races).toMatch(new RegExp(`^\\|.*\`${name}\``, 'm'));
  const [shard] = saleKeys(1).shards;
  const keys = Object.values(shard ?? {}).flatMap((key: string | ((id: string) => unknown)) =>
    typeof key === 'string' ? key : key('<id>'),
  );
  for (const key of keys.map((each) => String(each).replace('{sale:0}', '')))
    expect
      .soft(design)
      .toMatch(new RegExp(`^\\| .*${key.replace('<id>', '<(id|name)>(:<k>)?')}\``, 'm'));
});
