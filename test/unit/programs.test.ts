/** A bare Debian has few programs: what the tests of `npm test` start, set-up has installed. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** Of Node, and of the packages that every Debian has: bash, coreutils, util-linux. */
const always = ['node', 'npm', 'npx', 'bash', 'sleep', 'chrt', 'prlimit'];
const folders = ['unit', 'contracts', 'integration', 'security', 'drills', 'support'];
/** Only `npm run test:all` uses it. */
const left = ['redisson.ts'];

test('set-up installs every program that a test starts', () => {
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(`test/${folder}/`, root), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !left.includes(file))
      .map((file) => `test/${folder}/${file}`),
  );
  const starts = /\b(?:execa|exec\w*|spawn\w*|programPath)\('([a-z][\w-]*)'/g;
  const started = files.flatMap((file) => [...read(file).matchAll(starts)].map(([, name]) => name));
  const packages = read('scripts/setup.mjs').split('const servers = {')[1]?.split('\n};')[0] ?? '';
  const installed = [...packages.matchAll(/'?([\w-]+)'?: '/g)].map(([, name]) => name);
  expect(started.length).toBeGreaterThan(10);
  const known = [...always, ...installed, 'redis-cli']; // Comes with redis-server.
  expect(started.filter((name) => !known.includes(name ?? ''))).toEqual([]);
});
