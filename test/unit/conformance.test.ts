/** The report of `npm run conformance`, and what it says about the packages that it runs. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ClauseVerdict } from '../conformance/clause.ts';
import { conformanceClauses } from '../conformance/clauses.ts';
import { answersOf, conformanceMarkdown, conformanceText } from '../conformance/report.ts';
import type { SubjectResult } from '../conformance/run.ts';
import { conformanceSubjects } from '../conformance/subjects.ts';
import { tooWide } from './terminal.ts';

const root = new URL('../../', import.meta.url);
const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));

interface Change {
  readonly verdict: ClauseVerdict;
  readonly isClaimed?: boolean;
}

/** Every clause is held, but for the first. */
const resultOf = (isOurs: boolean, { verdict, isClaimed = false }: Change): SubjectResult => ({
  subject: isOurs ? 'redis-atomic' : '@microfleet/ioredis-lock',
  setup: 'its defaults',
  isOurs,
  results: conformanceClauses.map(({ name }, place) => ({
    clause: name,
    verdict: place === 0 ? verdict : 'held',
    measured: 'two owners for 812 ms',
    isClaimed: place === 0 && isClaimed,
    ms: 1,
  })),
});

describe('the answer', () => {
  test.each([
    ['ours breaks a clause', true, { verdict: 'broken' }, 'no'],
    ['ours breaks it as it claims', true, { verdict: 'broken', isClaimed: true }, 'yes'],
    ['ours keeps what it claims to break', true, { verdict: 'held', isClaimed: true }, 'no'],
    ['another package breaks a clause', false, { verdict: 'broken' }, 'yes'],
    ['a clause could not be measured', false, { verdict: 'unknown' }, 'unknown'],
    ['a clause is about other locks', true, { verdict: 'skipped' }, 'yes'],
  ] as const)('when %s', (_, isOurs, change, answer) => {
    const [first, ...others] = answersOf(resultOf(isOurs, change));
    expect(first).toBe(answer);
    expect(new Set(others)).toEqual(new Set(['yes']));
  });
});

describe('the report', () => {
  const results = [
    resultOf(true, { verdict: 'held', isClaimed: true }),
    resultOf(false, { verdict: 'broken' }),
  ];

  test('fits 80 columns, and names each case that is not held', () => {
    const text = conformanceText(results, 'a machine');
    expect(tooWide(text)).toEqual([]);
    expect(text).toContain('✗ @microfleet/ioredis-lock, mutual exclusion: two owners for 812 ms\n');
    expect(text).toContain('NOT SEEN');
  });

  test('is a table in Markdown, too', () => {
    const [head, , ...rows] = conformanceMarkdown(results, 'a machine').split('\n');
    expect(head).toBe(`| lock | ${conformanceClauses.map(({ head }) => head).join(' | ')} |`);
    expect(rows[1]).toMatch(/^\| @microfleet\/ioredis-lock \| ✗ \| ✓ /);
  });
});

test('the versions that a subject names are those that are installed', () => {
  const { dependencies, devDependencies } = readJson('package.json') as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const installed = Object.entries({ ...dependencies, ...devDependencies }).map(
    ([name, version]) =>
      version.startsWith('npm:')
        ? version.slice('npm:'.length).replace(/@(?=[^@]+$)/, ' ')
        : `${name} ${version}`,
  );
  for (const { setup } of conformanceSubjects.filter(({ claims }) => !claims)) {
    const named = setup.match(/[@\w/-]+ \d+\.\d+\.\d+[\w.-]*/g) ?? [];
    expect(named).toHaveLength(2); // The package and its client.
    expect(installed).toEqual(expect.arrayContaining(named));
  }
});

test('every Redis lock of the ladder is a subject', () => {
  const ours = conformanceSubjects.filter(({ claims }) => claims).map(({ name }) => name);
  const some = ['redis-atomic', 'redis-fair', 'multilock', 'redlock'];
  expect(ours).toEqual(expect.arrayContaining(some));
  expect(ours.length).toBeGreaterThanOrEqual(11);
});
