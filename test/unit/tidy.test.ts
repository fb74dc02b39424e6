/** The rules that a compiler does not know: directions of imports, and the form of a file. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { columns } from '../../src/lab/report/wrap.ts';
import {
  cyclesOfFiles,
  cyclesOfFolders,
  files,
  type Import,
  imports,
  loadedBy,
  textOf,
  wordsOf,
} from './source-graph.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const isOurs = (name: string): boolean => /\.tsx?$/.test(name);
const filesLike = (of: RegExp): string[] => files.filter((file) => of.test(file));
const text = ({ file, name, kind }: Import): string => `${file} → ${name} (${kind})`;

/** The imports of these files that the rule does not allow. */
const offences = (of: RegExp, isAllowed: (each: Import) => boolean): string[] =>
  imports.filter((each) => of.test(each.file) && !isAllowed(each)).map(text);

const contracts = [
  'service/locks/lock.ts',
  'service/inventory/inventory.ts',
  'service/queues/order-queue.ts',
];
const implementations = filesLike(/^service\/(locks|inventory|queues)\/[^/]+$/).filter(
  (file) => !contracts.includes(file),
);
const services = [
  'service/bin/api.ts',
  'service/bin/order-worker.ts',
  'service/bin/reconcile.ts',
  'service/bin/service.ts',
];

const shared = /^service\/((trace|connections)\/|(errors|domain)\.ts$)/;
const mayImport = (own: RegExp) => (each: Import) =>
  !isOurs(each.name) || own.test(each.name) || shared.test(each.name);

/** Each rule: the files that it is about, and the imports that it allows them. */
type Direction = readonly [of: RegExp, isAllowed: (each: Import) => boolean];
const directions: Readonly<Record<string, Direction>> = {
  'the domain imports nothing': [/^service\/domain\.ts$/, () => false],
  'the errors import the spelling of names, and nothing else': [
    /^service\/errors\.ts$/,
    mayImport(/^service\/spelling\.ts$/),
  ],
  'spelling imports nothing': [/^service\/spelling\.ts$/, () => false],
  'a lock imports its contract, locks/shared, and no other lock': [
    /^service\/locks\//,
    mayImport(/^service\/locks\/(lock\.ts$|shared\/)/),
  ],
  'an inventory imports its contract, inventory/shared, and the contracts of lock and queue': [
    /^service\/inventory\//,
    mayImport(
      /^service\/(inventory\/(inventory\.ts$|shared\/)|locks\/lock\.ts$|queues\/order-queue\.ts$)/,
    ),
  ],
  'a queue imports its contract, queues/shared, and no other queue': [
    /^service\/queues\//,
    mayImport(/^service\/queues\/(order-queue\.ts$|shared\/)/),
  ],
  'a contract imports contracts, the domain, the errors, and types of MySQL only': [
    /^service\/(locks\/lock|inventory\/inventory|queues\/order-queue)\.ts$/,
    ({ name, kind }) =>
      [...contracts, 'service/domain.ts', 'service/errors.ts'].includes(name) ||
      (name === 'service/connections/mysql.ts' && kind === 'type'),
  ],
  'only the ladder, and the exports, name an implementation': [
    /^(?!service\/(ladder|locks|inventory|queues|exports)\/)/,
    ({ name }) => !implementations.includes(name),
  ],
  'a check imports the audit, the domain, and types of the trace only': [
    /^service\/audit\/checks\//,
    ({ name, kind }) =>
      /^service\/(audit\/|domain\.ts$)/.test(name) ||
      (name.startsWith('service/trace/') && kind === 'type'),
  ],
  'the purchase imports contracts, and no implementation': [
    /^service\/purchase\//,
    mayImport(/^service\/(locks\/lock|inventory\/inventory)\.ts$/),
  ],
  'the service knows nobody; in the lab, an instance or worker loads its part on demand': [
    /^service\//,
    ({ file, name, kind }) =>
      !/^(lab|page|cli|texts)\//.test(name) ||
      (/^service\/bin\/(api|order-worker)/.test(file) && kind === 'dynamic'),
  ],
  'the lab knows no page and no command': [/^lab\//, ({ name }) => !/^(page|cli)\//.test(name)],
  'the texts know the service only': [/^texts\//, ({ name }) => /^(service|texts)\//.test(name)],
  'the page knows no command': [/^page\//, ({ name }) => !name.startsWith('cli/')],
  'nothing imports an entry': [
    /./,
    ({ name }) => !/^service\/bin\/|^cli\/lockstep\.ts$/.test(name),
  ],
};

/** The first folder, or the file itself when it is in none; in the service, a folder of it. */
const folderOf = (file: string): string => /^(service\/)?[^/]+/.exec(file)?.[0] ?? '';
const folderIn = (part: string) => (file: string) =>
  file.startsWith(`${part}/`) ? (new RegExp(`^${part}/[^/]+/`).exec(file)?.[0] ?? null) : null;

describe('the imports', () => {
  test.each(Object.entries(directions))('%s', (_, [of, isAllowed]) => {
    expect(filesLike(of)).not.toEqual([]);
    expect(offences(of, isAllowed)).toEqual([]);
  });

  test('of the service never load the lab or a command, also not through other files', () => {
    const loaded = loadedBy(services);
    expect(loaded).toEqual(
      expect.arrayContaining(['service/locks/redlock.ts', 'service/http/app.ts', 'ioredis']),
    );
    expect(loaded.filter((name) => /^(lab|page|cli|texts)\//.test(name))).toEqual([]);
    const dynamic = imports.filter(({ file, kind }) => kind === 'dynamic' && loaded.includes(file));
    expect(dynamic.map(text)).toEqual([
      'service/bin/api.ts → lab/in-service/lab-extensions.ts (dynamic)',
      'service/bin/order-worker.ts → lab/in-service/meet-player.ts (dynamic)',
      'service/connections/zookeeper.ts → node-zookeeper-client (dynamic)',
    ]);
  });

  test('of the checks load nothing that could read, write or wait', () => {
    const loaded = loadedBy(filesLike(/^service\/audit\/checks\//));
    expect(loaded).toContain('service/audit/sections.ts');
    expect(loaded.filter((name) => !/^service\/(audit\/|domain\.ts$)/.test(name))).toEqual([]);
  });
});

describe('import cycles', () => {
  test('do not exist between files', () => {
    expect(cyclesOfFiles(imports)).toEqual([]);
  });

  test('do not exist between the folders of src', () => {
    expect(cyclesOfFolders(imports, folderOf)).toEqual([]);
  });

  test.each([
    ['lab', 5],
    ['page', 1],
  ])('do not exist between the folders of %s', (part, least) => {
    expect(new Set(files.map(folderIn(part))).size).toBeGreaterThan(least);
    expect(cyclesOfFolders(imports, folderIn(part))).toEqual([]);
  });
});

describe('a source file', () => {
  const offenders = (isOffence: (file: string) => boolean): string[] => files.filter(isOffence);

  test('leaves the environment to config.ts, the entries and the lab', () => {
    const reading = offenders((file) => /process\.env\b/.test(wordsOf(file)));
    expect(reading).toContain('service/config.ts');
    const importing = imports.filter(({ name }) => name === 'node:process').map(({ file }) => file);
    const all = [...reading, ...importing];
    expect(
      all.filter(
        (file) => !/^(service\/(config\.ts$|bin\/)|cli\/lockstep\.ts$|lab\/|page\/)/.test(file),
      ),
    ).toEqual([]);
  });

  test('begins with its idea and its limits, when it implements a contract', () => {
    const part = (name: string) =>
      ` \\* ${name}\\. \\S.*\\n(?: \\*(?! (?:Idea|Holds while|Breaks when|Source)\\.) .+\\n)*`;
    const parts = ['Idea', 'Holds while', 'Breaks when', 'Source'].map(part).join('');
    const header = new RegExp(`^/\\*\\*\\n${parts} \\*/\\n`);
    expect(implementations.length).toBeGreaterThanOrEqual(25);
    expect(implementations.filter((file) => !header.test(textOf(file)))).toEqual([]);
  });

  test('has no `any` and no `as never`', () => {
    const untyped = /(?<![.\w])any\b(?!\w)|\bas never\b/;
    expect(offenders((file) => untyped.test(wordsOf(file)))).toEqual([]);
  });

  test('has nothing left to do', () => {
    expect(offenders((file) => /\b(TODO|FIXME|XXX)\b/.test(textOf(file)))).toEqual([]);
  });
});

describe('an exported function', () => {
  const declared = /^export (?:async )?function (\w+)/gm;
  const assigned = /^export const (\w+)(?:: .*)? =\s+(?:async )?(?:<.*?>)?(?:\(|\w+ =>)/gm;
  const namesIn = (code: string): string[] =>
    [declared, assigned].flatMap((form) => [...code.matchAll(form)].map(([, name = '']) => name));

  test('has a name of its own, which can be found with grep', () => {
    const places = new Map<string, string[]>();
    for (const file of files)
      for (const name of namesIn(textOf(file)))
        places.set(name, [...(places.get(name) ?? []), file]);
    expect(places.size).toBeGreaterThan(200);
    expect([...places].filter(([, where]) => where.length > 1)).toEqual([]);
    expect([...places.keys()].filter((name) => name === 'open')).toEqual([]);
  });
});

/** HTML and tables in templates, where a line break would be part of the output. */
const templates = /^src\/(lab\/report\/\w+-(page|chart)|cli\/bench(-locks)?)\.ts$/;
const isComment = (line: string): boolean => /^\s*(\/?\*|\/\/|--)/.test(line);
/** A string is not cut to fit, so its text does not count. A comment can be cut, quotes or not. */
const withoutText = (line: string): string =>
  isComment(line)
    ? line
    : line.replaceAll(/'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`/g, "''").replace(/`.*$/, '`');

describe.each(['src', 'lua', 'k6', 'scripts', 'test'])('a line in %s', (folder) => {
  const sources = readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|mjs|js|lua)$/.test(file))
    .map((file) => `${folder}/${file}`);

  test('has at most 100 columns, without the text of its strings', () => {
    expect(sources).not.toEqual([]);
    const isLong = (line: string) => columns(line) > 100 && columns(withoutText(line)) > 100;
    const longIn = (file: string) =>
      read(file)
        .split('\n')
        .flatMap((line, index) => (isLong(line) ? [`${file}:${index + 1}`] : []));
    const long = sources.filter((file) => !templates.test(file)).flatMap(longIn);
    expect(long).toEqual([]);
  });
});
