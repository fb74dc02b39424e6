/** `npm run try-compose` without an engine: it could not tell, and says so. */
import { readFileSync } from 'node:fs';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const tryCompose = (...args: string[]) =>
  execa(process.execPath, ['scripts/try-compose.mjs', ...args], {
    env: { PATH: '/no/docker/here' },
    extendEnv: false,
    reject: false,
  });

test.each([
  [2, [], 'NO DOCKER ENGINE'],
  [0, ['--where-possible'], 'NO DOCKER ENGINE'],
  [2, ['--where-possible', 'fault'], 'no such part: fault. The parts: up, '],
])('exits with %i for %j, and says %s', async (code, args, said) => {
  const { exitCode, stdout } = await tryCompose(...args);
  expect(stdout).toContain(said);
  expect(exitCode).toBe(code);
});

test('is no failure of the long drills', () => {
  const drills = readFileSync('scripts/drills.mjs', 'utf8');
  expect(drills).toContain("['scripts/try-compose.mjs', '--where-possible']");
});
