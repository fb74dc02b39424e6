/** The README says what the code does: its table is the ladder's, and the commands it names exist. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ladderMarkdown, raceMarkdown } from '../../src/lab/report/ladder-tables.ts';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  scripts: Record<string, string>;
};
const commandLine = readFileSync(new URL('src/bin/lockstep.ts', root), 'utf8');

test('the table of rungs is the ladder’s', () => {
  expect(readme).toContain(ladderMarkdown());
});

test('the table of races is the schedules’', () => {
  expect(readFileSync(new URL('docs/races.md', root), 'utf8')).toContain(raceMarkdown());
});

test('every npm script that the README names exists', () => {
  const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(scripts).toHaveProperty(name);
});

test('every lockstep command that the README names exists', () => {
  const named = [...readme.matchAll(/npx lockstep ([a-z]+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(commandLine).toContain(`command('${name}'`);
});
