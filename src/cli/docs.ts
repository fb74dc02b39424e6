import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generatedParts, replaceParts, wholeFiles } from '../lab/report/docs.ts';
import { publishedRows, rowsText } from '../lab/report/published.ts';
import type { AddCommand } from './output.ts';

const dataFolder = fileURLToPath(new URL('../../docs/data/', import.meta.url));

export const addDocs: AddCommand = (program, { runsFolder }) =>
  program
    .command('docs')
    .description(
      'write the generated parts of README.md and docs/ (tables, results of the last runs)',
    )
    .action(() => {
      for (const [file, parts] of Object.entries(generatedParts(runsFolder)))
        rewrite(file, (text) => replaceParts(text, parts));
      for (const [file, text] of Object.entries(wholeFiles())) rewrite(file, () => text);
      for (const [file, rows] of Object.entries(publishedRows(runsFolder)))
        rewrite(`${dataFolder}${file}`, () => rowsText(rows));
    });

function rewrite(file: string, change: (text: string) => string): void {
  const text = readFileSync(file, 'utf8');
  const fresh = change(text);
  if (fresh !== text) writeFileSync(file, fresh);
  console.log(`${fresh === text ? 'unchanged' : 'written  '}  ${file}`);
}
