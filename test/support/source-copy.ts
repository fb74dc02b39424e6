/**
 * A copy of the sources in a temporary folder, with rungs added as a contributor would: for each
 * one file, one row, its texts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { compileCopy, copyProject, projectFolder } from '../../src/lab/mutants/change.ts';

export interface Addition {
  readonly rung: string;
  readonly chapter: number;
  /** Below src/. */
  readonly file: string;
  readonly source: string;
  /** The import of the new file, and the row, in src/service/ladder/rungs.ts. */
  readonly importLine: string;
  readonly row: string;
  readonly idea: string;
  readonly lesson: string;
}

/** The compiled modules of a copy, with the types of the original. */
interface Modules {
  readonly 'service/config': typeof import('../../src/service/config.ts');
  readonly 'service/connections/connections': typeof import('../../src/service/connections/connections.ts');
  readonly 'service/ladder/factories': typeof import('../../src/service/ladder/factories.ts');
  readonly 'service/ladder/open-rung': typeof import('../../src/service/ladder/open-rung.ts');
  readonly 'service/audit/audit': typeof import('../../src/service/audit/audit.ts');
  readonly 'service/audit/collect': typeof import('../../src/service/audit/collect.ts');
  readonly 'service/orders/work-orders': typeof import('../../src/service/orders/work-orders.ts');
  readonly 'service/purchase/vouchers': typeof import('../../src/service/purchase/vouchers.ts');
}

export interface SourceCopy {
  /** The source files that differ from the original. */
  readonly touched: readonly string[];
  load<Name extends keyof Modules>(name: Name): Promise<Modules[Name]>;
  /** Runs `lockstep` of the copy. @returns its standard output. */
  lockstep(...args: string[]): Promise<string>;
  remove(): void;
}

/** Copies these files and folders, and what every copy needs. @returns the new folder. */
export function copySources(...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-copy-'));
  copyProject(folder, ['src', 'tsconfig.json', ...names]);
  return folder;
}

/** @throws CANNOT_COMPILE */
export async function copyWith(...additions: readonly Addition[]): Promise<SourceCopy> {
  const folder = copySources();
  for (const addition of additions) add(join(folder, 'src'), addition);
  await compileCopy(folder);
  return {
    touched: touchedFiles(join(projectFolder, 'src'), join(folder, 'src')),
    load: (name) => import(pathToFileURL(join(folder, 'dist', `${name}.js`)).href),
    lockstep: async (...args) =>
      (await execa('node', [join(folder, 'dist/cli/lockstep.js'), ...args])).stdout,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function add(source: string, addition: Addition): void {
  const { rung, chapter, row, idea, lesson } = addition;
  writeFileSync(join(source, addition.file), addition.source);
  const nextChapter = new RegExp(`^ {2}\\S+: rung\\(\\{\\s+chapter: ${chapter + 1},`, 'm');
  edit(join(source, 'service/ladder/rungs.ts'), nextChapter, (next) => `  ${row}\n${next}`);
  edit(
    join(source, 'service/ladder/rungs.ts'),
    /^import /m,
    (next) => `${addition.importLine}\n${next}`,
  );
  for (const language of ['en', 'zh'])
    edit(join(source, `texts/${language}.ts`), /^ {2}rungs: \{\n/m, (start) => {
      return `${start}    '${rung}': ${JSON.stringify({ idea, lesson })},\n`;
    });
}

function edit(file: string, place: RegExp, change: (found: string) => string): void {
  const text = readFileSync(file, 'utf8');
  if (!place.test(text)) throw new Error(`${file} has no ${place}`);
  writeFileSync(file, text.replace(place, change));
}

function touchedFiles(original: string, copy: string): string[] {
  const contents = (folder: string) =>
    new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
    );
  const before = contents(original);
  const after = contents(copy);
  const files = new Set([...before.keys(), ...after.keys()]);
  return [...files].filter((file) => before.get(file) !== after.get(file)).sort();
}
