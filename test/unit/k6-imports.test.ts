/** Only k6 runs its scripts, so nothing else sees that a script imports a name that is gone. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { purchaseAnswers } from '../../src/service/http/routes/orders.ts';

const root = new URL('../../', import.meta.url).pathname;
const scripts = ['k6', 'k6/lib', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name)),
);

/** The names that a script imports from a file of ours, each as `file: name`. */
const importsOf = (script: string): string[] =>
  [
    ...readFileSync(join(root, script), 'utf8').matchAll(/import \{([^}]+)\} from '(\.[^']+)'/g),
  ].flatMap(([, names = '', from = '']) =>
    names
      .split(',')
      .map((name) => name.trim().split(' as ')[0] ?? '')
      .filter((name) => name !== '')
      .map((name) => `${join(dirname(script), from)}: ${name}`),
  );

const exportsOf = (script: string): string[] =>
  [
    ...readFileSync(join(root, script), 'utf8').matchAll(
      /^export (?:async )?(?:const|function|class) (\w+)/gm,
    ),
  ].map(([, name]) => `${script}: ${name}`);

test('every name that a script of k6 imports from another is exported there', () => {
  const imported = scripts.flatMap(importsOf);
  expect(imported).toContain('k6/lib/tokens.js: authorized');
  expect(scripts.flatMap(exportsOf)).toEqual(expect.arrayContaining(imported));
});

test('the census counts every refusal of the service under its own name', () => {
  const census = readFileSync(join(root, 'k6/lib/census.js'), 'utf8');
  const [, list = ''] = /^const refusals = \[([^\]]+)\];/m.exec(census) ?? [];
  const codes = ([403, 409, 410, 429, 503] as const).flatMap((status) =>
    purchaseAnswers[status].description.split(', '),
  );
  const counted = [...list.matchAll(/'([^']+)'/g)].map(([, name]) => name);
  expect([...counted, 'forbidden', 'outcome-unknown'].toSorted()).toEqual(codes.toSorted());
});
