/** The whole files that CONTRIBUTING.md shows: each compiles as it stands. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { compile, copySources } from '../support/source-copy.ts';

interface ShownFile {
  readonly path: string;
  readonly source: string;
}

const pathOfFile = /(?:The file\*\*|Example),\s+`(src\/[^`]+)`/g;
const wholeFile = /^ts\n(?=\/\*\*|import)/;

/** The path of a file is the last one that is named before its source. */
function shownFiles(guide: string): ShownFile[] {
  const shown: ShownFile[] = [];
  let path = '';
  for (const part of guide.split(/^```/m)) {
    if (wholeFile.test(part)) shown.push({ path, source: part.replace(wholeFile, '') });
    else path = [...part.matchAll(pathOfFile)].at(-1)?.[1] ?? path;
  }
  return shown;
}

const files = shownFiles(readFileSync('CONTRIBUTING.md', 'utf8'));

test('each file that exists is shown as it is', () => {
  for (const { path, source } of files)
    if (existsSync(path)) expect(source, path).toBe(readFileSync(path, 'utf8'));
});

test('all of them compile', async () => {
  expect(files.map(({ path }) => path.split('/').slice(1, -1).join('/'))).toEqual([
    ...['locks', 'inventory', 'queues', 'audit/checks', 'lab/faults', 'lab/drills', 'cli'],
  ]);
  const copy = copySources();
  onTestFinished(() => rmSync(copy, { recursive: true }));
  // A new check also has a name in the domain and in the texts: here it takes the name of another.
  for (const { path, source } of files)
    writeFileSync(join(copy, path), source.replace("'answered-in-time'", "'progress'"));
  await compile(copy);
});
