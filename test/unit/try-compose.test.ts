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

test('exits with 2 when no engine answers, and says loudly that nothing was tried', async () => {
  const { exitCode, stdout } = await tryCompose();
  expect(stdout).toContain('NO DOCKER ENGINE');
  expect(exitCode).toBe(2);
});

test('is no failure of the long drills when no engine answers, and says it all the same', async () => {
  const { exitCode, stdout } = await tryCompose('--where-possible');
  expect(stdout).toContain('NO DOCKER ENGINE');
  expect(exitCode).toBe(0);
  const drills = readFileSync('scripts/drills.mjs', 'utf8');
  expect(drills).toContain("['scripts/try-compose.mjs', '--where-possible']");
});

test('refuses a part that there is not', async () => {
  const { exitCode, stdout } = await tryCompose('--where-possible', 'fault');
  expect(stdout).toContain('no such part: fault. The parts: up, ');
  expect(exitCode).toBe(2);
});
