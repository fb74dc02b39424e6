/** docs/proof.md says which test watches which defence. A stale list: `npm run docs:mutants`. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type MutantName, mutantNames, mutants } from '../../src/lab/mutants/mutants.ts';
import { replaceParts } from '../../src/lab/report/docs.ts';
import { lockMutants } from '../mutants/lock-mutants.ts';
import { testOf } from '../mutants/mutant.ts';
import { otherMutants, testOfMutant } from '../support/samples.ts';

interface Watched {
  readonly defence: string;
  readonly file: string;
  readonly test: string;
}

const saleMutant = (name: MutantName): Watched => ({
  defence: `the final rung: ${mutants[name].defence.en}`,
  file: otherMutants.includes(name) ? 'test/long/mutants.test.ts' : 'test/drills/mutants.test.ts',
  test: testOfMutant(name),
});

const ofLocks = lockMutants.map((mutant) => ({ defence: mutant.name, ...testOf(mutant) }));
const watched: readonly Watched[] = [...ofLocks, ...mutantNames.map(saleMutant)];

const isLong = (file: string): boolean => /^test\/(long|newer)\//.test(file);
const rows = ofLocks.map(({ defence, file, test: name }) => {
  const length = isLong(file) ? 'npm run test:all' : 'npm test';
  return `| ${defence} | \`${file.replace('test/', '')}\`: ${name} | \`${length}\` |`;
});
const head = ['| mutant | the test that turns red | in |', '| --- | --- | --- |'];

/** Those of the final rung have their names, and a table of their own on the page. */
const inShort = mutantNames.filter((name) => !otherMutants.includes(name));
const ofFinalRung = `Of the final rung: ${inShort.map((name) => `\`${name}\``).join(', ')} in
\`drills/mutants.test.ts\` (\`npm test\`), the others in \`long/mutants.test.ts\` (\`npm run test:all\`).`;

test('every mutant has the test that watches it, and most of these are in `npm test`', () => {
  for (const { file } of watched) expect(existsSync(file), file).toBe(true);
  const short = watched.filter(({ file }) => !isLong(file));
  expect(short.length).toBeGreaterThan(watched.length / 3);
});

test('docs/proof.md is as `npm run docs:mutants` writes it', async () => {
  const page = new URL('../../docs/proof.md', import.meta.url).pathname;
  const fresh = replaceParts(readFileSync(page, 'utf8'), {
    watched: [...head, ...rows, '', ofFinalRung].join('\n'),
  });
  await expect(fresh).toMatchFileSnapshot(page);
});
