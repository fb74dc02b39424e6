/** The rules of the house that a compiler does not know: who may import whom, and what a source file looks like. */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';

const source = new URL('../../src/', import.meta.url);
const texts = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, readFileSync(new URL(file, source), 'utf8')]),
);
const files = [...texts.keys()].sort();
const textOf = (file: string): string => texts.get(file) ?? '';

/** Without comments, and with every string emptied. */
const codeOf = (file: string): string =>
  textOf(file).replaceAll(
    /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"[^"\n]*"|`(?:\\.|[^`\\])*`/g,
    (part) => (part.startsWith('/') ? '' : "''"),
  );

/** What a file imports, types included: `locks/lock.ts` for a file of ours, `node:fs` or `zod` for others. */
const importsOf = (file: string): string[] =>
  [...textOf(file).matchAll(/(?:\bfrom|^import|\bimport\() ?'([^']+)'/gm)].map(([, name = '']) =>
    name.startsWith('.') ? posix.join(posix.dirname(file), name) : name,
  );

const offenders = (of: RegExp, isOffence: (file: string) => boolean): string[] =>
  files.filter((file) => of.test(file) && isOffence(file));

const directions: readonly [says: string, of: RegExp, mayNotImport: RegExp][] = [
  ['the domain imports nothing', /^domain\.ts$/, /./],
  [
    'a lock imports no other lock',
    /^locks\//,
    /^locks\/(?!(lock|waiting|owner|re-entry|redisson-holds|wake-ups|watchdog)\.ts)/,
  ],
  [
    'a lock does not know what it is used for',
    /^locks\//,
    /^(inventory|queues|purchase|orders|http|lab|drills|audit)\//,
  ],
  ['an inventory imports no concrete lock', /^inventory\//, /^locks\/(?!lock\.ts)/],
  ['an inventory imports no concrete queue', /^inventory\//, /^queues\/(?!order-queue\.ts)/],
  ['a queue imports no lock and no inventory', /^queues\//, /^(locks|inventory)\//],
  [
    'a check of the audit reads facts and nothing else',
    /^audit\/checks\//,
    /^(?!audit\/|domain\.ts$)/,
  ],
  [
    'the lab knows the service as an operator does',
    /^lab\//,
    /^(locks|inventory|queues|purchase|http)\//,
  ],
  ['nothing imports a process’s entry', /./, /^bin\//],
];

describe('directions', () => {
  test('are read from the import lines that there are', () => {
    expect(importsOf('ladder.ts')).toEqual(expect.arrayContaining(['domain.ts', 'locks/none.ts']));
    expect(importsOf('audit/checks/no-oversell.ts')).toContain('audit/finding.ts');
    expect(importsOf('config.ts')).toContain('zod');
  });

  test.each(directions)('%s', (_, of, mayNotImport) => {
    expect(files.some((file) => of.test(file))).toBe(true);
    const wrong = files
      .filter((file) => of.test(file))
      .flatMap((file) => importsOf(file).map((name) => ({ file, name })))
      .filter(({ name }) => mayNotImport.test(name));
    expect(wrong).toEqual([]);
  });
});

describe('every source file', () => {
  test('leaves the environment to config.ts, the entries and the lab', () => {
    const outsideComments = /^(?!\s*(\*|\/\*|\/\/)).*(process\.env\b|'node:process')/m;
    const reading = offenders(/./, (file) => outsideComments.test(textOf(file)));
    expect(reading).toContain('config.ts');
    expect(reading.filter((file) => !/^(config\.ts$|bin\/|lab\/)/.test(file))).toEqual([]);
  });

  test('has at most 150 lines, but for the tables', () => {
    expect(
      offenders(
        /^(?!ladder\.ts|races\/schedules\.ts|errors\.ts)/,
        (file) => textOf(file).trimEnd().split('\n').length > 150,
      ),
    ).toEqual([]);
  });

  test('opens with what it is for, when it implements a lock or an inventory', () => {
    const opens = (file: string) => /^export (const|(async )?function) open\b/m.test(textOf(file));
    const header =
      /^\/\*\*\n \* Idea\. .+\n( \* .+\n)*? \* Holds while\. .+\n( \* .+\n)*? \* Breaks when\. .+\n( \* .+\n)*? \* Source\. /;
    const implementations = offenders(/^(locks|inventory)\//, opens);
    expect(implementations.length).toBeGreaterThanOrEqual(8);
    expect(implementations.filter((file) => !header.test(textOf(file)))).toEqual([]);
  });

  test('has no `any` and no `as never`', () => {
    expect(
      offenders(/./, (file) => /(?<![.\w])any\b(?!\w)|\bas never\b/.test(codeOf(file))),
    ).toEqual([]);
  });

  test('has nothing left to do', () => {
    expect(offenders(/./, (file) => /\b(TODO|FIXME|XXX)\b/.test(textOf(file)))).toEqual([]);
  });
});
