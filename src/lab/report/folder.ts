/** `runs/<time>-<name>/`: the files that a command leaves. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { html, raw } from 'hono/html';
import type { Facts } from '../../service/audit/facts.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { Language } from '../../texts/texts.ts';
import { colours } from './colours.ts';

export const timeStamp = (): string =>
  new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '');

/** `latest` beside the new folder points at it. @returns the folder's path. */
export function newFolder(root: string, name: string): string {
  const folder = join(root, `${timeStamp()}-${name}`);
  mkdirSync(folder, { recursive: true });
  rmSync(join(root, 'latest'), { force: true });
  symlinkSync(basename(folder), join(root, 'latest'));
  return folder;
}

/** Files by name; objects are written as JSON. */
export function writeFiles(folder: string, files: Readonly<Record<string, unknown>>): void {
  for (const [file, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
    writeFileSync(join(folder, file), `${text.trim()}\n`);
  }
}

/** A new folder with these files. @returns its path. */
export function writeFolder(
  root: string,
  name: string,
  files: Readonly<Record<string, unknown>>,
): string {
  const folder = newFolder(root, name);
  writeFiles(folder, files);
  return folder;
}

/**
 * The files of a report that is text only, and as it stands on its page. The documents are made
 * from its English text.
 */
export const textReport = (
  title: string,
  text: string,
  shown = text,
  language: Language = 'en',
): Record<string, string> => ({
  'report.txt': text,
  'report.md': `# ${title}\n\n\`\`\`text\n${shown}\n\`\`\`\n`,
  'index.html': textPage(title, shown, language),
});

const textPage = (name: string, text: string, language: Language): string =>
  String(html`<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${name}</title>
<style>${raw(colours)} body { margin: 1rem; } pre { overflow-x: auto; }</style>
<h1>${name}</h1>
<pre>${text}</pre>
</html>`);

/** The facts that an experiment was judged by. */
interface WithFacts {
  readonly facts: Facts;
}

export const withoutFacts = <Kind extends WithFacts>({
  facts: _,
  ...rest
}: Kind): Omit<Kind, 'facts'> => rest;

/** Files by name, for `writeFolder`. */
export function factsFiles(judged: readonly WithFacts[]): Record<string, unknown> {
  return {
    'facts.json': judged.map(({ facts: { history: _, ...facts } }) => facts),
    'history.jsonl': jsonLines(judged.flatMap(({ facts }) => facts.history ?? [])),
  };
}

export const jsonLines = (events: readonly object[]): string =>
  events.map((event) => JSON.stringify(event)).join('\n');

/** The answers to clients and the history, from the newest folder that has this voucher. */
export function keptFacts(
  root: string,
  { voucherId, createdAt }: Facts,
): Pick<Facts, 'attempts' | 'history'> {
  for (const folder of folders(root)) {
    const facts = read(join(root, folder, 'facts.json')).find(
      (kept) => kept.voucherId === voucherId && kept.createdAt === createdAt,
    );
    if (!facts?.attempts) continue;
    const history = eventsOf(join(root, folder, 'history.jsonl'), voucherId);
    return { attempts: facts.attempts, ...(history.length > 0 && { history }) };
  }
  return {};
}

/** Nothing, for a folder without facts. */
function read(file: string): readonly Facts[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Facts[];
  } catch {
    return [];
  }
}

function eventsOf(file: string, voucherId: string): HistoryEvent[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  const own = lines.filter((line) => line.includes(`"voucherId":"${voucherId}"`));
  return own.map((line) => JSON.parse(line) as HistoryEvent);
}

function folders(root: string): string[] {
  try {
    const entries = readdirSync(root, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    return names.sort().reverse();
  } catch {
    return [];
  }
}
