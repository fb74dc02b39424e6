/** `runs/<time>-<name>/`: the files that a command leaves. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { html, raw } from 'hono/html';
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

/** The files of a report that is text only, and as it stands on its page. */
export const textReport = (title: string, text: string): Record<string, string> => ({
  'report.txt': text,
  'report.md': `# ${title}\n\n\`\`\`text\n${text}\n\`\`\`\n`,
  'index.html': textPage(title, text),
});

const textPage = (name: string, text: string): string =>
  String(html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${name}</title>
<style>${raw(colours)} body { margin: 1rem; } pre { overflow-x: auto; }</style>
<h1>${name}</h1>
<pre>${text}</pre>
</html>`);
