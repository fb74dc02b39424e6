/** The workshop on real servers: a group goes through it; the errata, and an exercise. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newDataFolder } from '../support/data-home.ts';
import { lockstepWith } from '../support/lockstep.ts';

const home = newDataFolder();
const variables = { LOCKSTEP_RUNS: join(home, 'runs'), LOCKSTEP_WORKSHOP: home, LANG: 'C' };
const lockstep = (...words: readonly string[]) => lockstepWith(variables, ...words);
const said = async (...words: readonly string[]): Promise<string> =>
  (await lockstep('workshop', ...words)).stdout;

beforeAll(() => said('reset'));
afterAll(() => rmSync(home, { recursive: true }));

test('every mistake of the notes is shown by the servers', async () => {
  const { exitCode, stdout } = await lockstep('erratum', '--json');
  const played: { name: string; isShown: boolean }[] = JSON.parse(stdout);
  expect(played.filter(({ isShown }) => !isShown)).toEqual([]);
  expect(played.length).toBeGreaterThan(15);
  expect(exitCode).toBe(0);
}, 240_000);

test('a group predicts, plays, is told why, and goes on where it was', async () => {
  expect((await lockstep('workshop', 'verify')).stderr).toMatch(/^NOT_PREDICTED/m);
  expect((await lockstep('workshop', 'predict', 'd')).stderr).toMatch(/^UNKNOWN_CHOICE/m);
  expect(await said('predict', 'b')).toContain('npx lockstep race lost-update');
  const { exitCode, stdout } = await lockstep('workshop', 'verify');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('writes 0 again, inserts another'); // The lanes of the play.
  expect(stdout).toMatch(/You predicted B\. It is right\.[\s\S]*Both transactions read/);
  expect(await said('next')).toContain('Step 2 of 10');
  expect(await said()).toContain('Step 2 of 10');
  expect(await said('back')).toContain('It is right.');
  const findings = readFileSync(await said('findings'), 'utf8');
  expect(findings).toContain('1 of 1 predictions were right.');
  expect(findings).toContain('<code>race lost-update</code>: violated, as the ladder claims');
  const slides = readFileSync(await said('slides', '--language', 'zh'), 'utf8');
  expect(slides).toContain('两个买家，一张券');
  await said('reset');
  expect(await said()).toContain('workshop predict A|B|C');
}, 240_000);

test('hints come one by one, and then the solution', async () => {
  await said('reset');
  await said('go', '2');
  expect(await said('hint')).toContain('Hint 1 of 3');
  expect(await said('hint')).toContain('Hint 2 of 3');
  expect(await said('hint')).toContain('Hint 3 of 3');
  expect(await said('hint')).toContain('entries.get(resource) ??');
});

test('an exercise is red as it begins, green once it is mended, and says what does not compile', async () => {
  await lockstep('exercise', 'right-mutex');
  const begun = await lockstep('verify', 'mine', '--json');
  expect(begun.exitCode).toBe(1);
  const { plays } = JSON.parse(begun.stdout);
  expect(plays[0]).toMatchObject({ answer: 'no', verdict: 'violated' });
  expect(plays.at(-1).reasons).toContain('failed: excludes others in the same process');
  const file = join(home, 'workshop/right-mutex/src/service/locks/process-mutex.ts');
  writeFileSync(file, `${readFileSync(file, 'utf8')}// mine\n`);
  expect((await lockstep('exercise', 'right-mutex')).stdout).toContain('as you left them');
  expect(readFileSync(file, 'utf8')).toContain('// mine');
  await lockstep('exercise', 'right-mutex', '--solution');
  const solved = await lockstep('verify', 'mine');
  expect([solved.exitCode, solved.stdout]).toEqual([
    ...[0, 'right-mutex: mended. Every play is as it must be.'],
  ]);
  writeFileSync(file, 'export const no = ;');
  expect((await lockstep('verify', 'mine')).stderr).toMatch(/CANNOT_COMPILE[\s\S]*process-mutex/);
}, 600_000);
