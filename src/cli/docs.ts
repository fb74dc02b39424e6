/** `docs`: what the last runs measured, in the documents. Only this command loads all of it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { execaSync } from 'execa';
import { languageVariable } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import {
  generatedParts,
  publishedRows,
  recordedFiles,
  replaceParts,
  rowsText,
  wholeFiles,
} from '../lab/report/docs.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';

const docsFile = (path: string) => fileURLToPath(new URL(`../../docs/${path}`, import.meta.url));
const dataFolder = docsFile('data/');

/** All commands, as `lockstep --help` shows them. */
function helpIn(language: Language): string {
  const lockstep = fileURLToPath(new URL('lockstep.js', import.meta.url));
  const env = { [languageVariable]: language };
  const { stdout } = execaSync(process.execPath, [lockstep, '--help'], { env });
  return `${stdout.trim()}\n`;
}

const docsRow = commandRow({
  name: 'docs',
  about: {
    en: 'write the generated parts of README.md and docs/ (tables, results of the last runs)',
    zh: '写 README.md 和 docs/ 里生成的部分（表格、最近几次的结果）',
  },
  arguments: {},
  options: {},
});

export const addDocs = command(docsRow, ({ runsFolder }) => {
  rewrite(docsFile('commands.txt'), () => helpIn('en'));
  rewrite(docsFile('zh/commands.txt'), () => helpIn('zh'));
  for (const [file, parts] of Object.entries(generatedParts(runsFolder)))
    rewrite(file, (text) => replaceParts(text, parts));
  for (const [file, text] of Object.entries({ ...wholeFiles(), ...recordedFiles(runsFolder) }))
    rewrite(file, () => text);
  for (const [file, rows] of Object.entries(publishedRows(runsFolder)))
    rewrite(`${dataFolder}${file}`, () => rowsText(rows));
});

function rewrite(file: string, change: (text: string) => string): void {
  const text = readFileSync(file, 'utf8');
  const fresh = change(text);
  if (fresh !== text) writeFileSync(file, fresh);
  console.log(`${fresh === text ? 'unchanged' : 'written  '}  ${file}`);
}
