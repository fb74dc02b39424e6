import { readFileSync, writeFileSync } from 'node:fs';
import { generatedParts, replaceParts } from '../lab/report/docs.ts';
import type { AddCommand } from './output.ts';

export const addDocs: AddCommand = (program, { runsFolder }) =>
  program
    .command('docs')
    .description(
      'write the generated parts of README.md and docs/ (tables, results of the last runs)',
    )
    .action(() => {
      for (const [file, parts] of Object.entries(generatedParts(runsFolder))) {
        const text = readFileSync(file, 'utf8');
        const fresh = replaceParts(text, parts);
        if (fresh !== text) writeFileSync(file, fresh);
        console.log(`${fresh === text ? 'unchanged' : 'written  '}  ${file}`);
      }
    });
