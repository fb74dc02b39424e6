/**
 * The generated parts of README.md and docs/, each between two markers: `<!-- name -->` and `<!--
 * /name -->`. Tables come from the ladder and the schedules; measured figures come from the newest
 * run of a command, and only from a run.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult } from '../drills/run-rung.ts';
import { headlineTable } from './demo-lines.ts';
import { ladderMarkdown, playedMarkdown, raceMarkdown } from './ladder-tables.ts';

export type Parts = Readonly<Record<string, string>>;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const fenced = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;

/** By file. A part without a run to take it from is left out. */
export function generatedParts(runsFolder: string): Record<string, Parts> {
  const demo = newest(runsFolder, 'demo', 'report.json');
  const runs = demo ? (JSON.parse(demo) as { runs: { result: RunResult }[] }).runs : [];
  const results = runs.map(({ result }) => result);
  return {
    [join(root, 'README.md')]:
      results.length > 0 ? { headline: fenced(headlineTable(results)) } : {},
    [join(root, 'docs', 'ladder.md')]: tableParts(),
    [join(root, 'docs', 'races.md')]: { races: raceMarkdown(), played: playedMarkdown() },
    [join(root, 'docs', 'results.md')]: measuredParts(runsFolder),
  };
}

/** The ladder's table in both languages. */
export const tableParts = (): Parts => ({
  ladder: ladderMarkdown('en'),
  'ladder-zh': ladderMarkdown('zh'),
});

function measuredParts(runsFolder: string): Parts {
  const parts: Record<string, string> = {};
  for (const [part, name, file] of [
    ['demo', 'demo', 'tables.txt'],
    ['bench', 'bench', 'report.txt'],
    ['bench-locks', 'bench-locks', 'report.txt'],
  ] as const) {
    const text = newest(runsFolder, name, file);
    if (text !== null) parts[part] = fenced(text);
  }
  return parts;
}

/** @throws RangeError when the text does not have a part's markers. */
export function replaceParts(text: string, parts: Parts): string {
  let fresh = text;
  for (const [name, part] of Object.entries(parts)) {
    const pattern = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`);
    if (!pattern.test(fresh)) throw new RangeError(`there is no part "${name}" between markers`);
    fresh = fresh.replace(
      pattern,
      (_, before: string, after: string) => `${before}${part}\n${after}`,
    );
  }
  return fresh;
}

/** A file of the newest folder `<time>-<name>`, or null when there is none. */
function newest(runsFolder: string, name: string, file: string): string | null {
  if (!existsSync(runsFolder)) return null;
  const folders = readdirSync(runsFolder).filter(
    (folder) => folder.replace(/^[^Z]*Z-/, '') === name,
  );
  const path = join(runsFolder, folders.sort().at(-1) ?? '', file);
  return folders.length > 0 && existsSync(path) ? readFileSync(path, 'utf8') : null;
}
