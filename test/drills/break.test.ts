/** `break` in one terminal, `fault` in another: what breaks is in the record, and then audited. */
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import { someFolder } from '../support/folder.ts';
import { ownLab } from '../support/own-lab.ts';

const program = new URL('../../scripts/lockstep.mjs', import.meta.url).pathname;
const env = { LOCKSTEP_LAB: ownLab.folder };
const lockstep = (...args: string[]) => execa('node', [program, ...args], { env, reject: false });
const stateOf = (name: string) =>
  Lab.running(ownLab.folder)?.parts.find((part) => part.name === name)?.state;

test('a fault from another terminal is in the record of `break`, and end brings the audit', async () => {
  const runs = someFolder();
  const selling = execa('node', [program, 'break', 'lua-stream', '--minutes', '5'], {
    env: { ...env, LOCKSTEP_RUNS: runs },
    reject: false,
  });
  let told = '';
  selling.stderr.on('data', (text) => {
    told += text;
  });
  await expect.poll(() => told, { timeout: 40_000 }).toContain('load: lua-stream');
  expect((await lockstep('fault', 'stop', 'redis-2')).stdout).toMatch(/^redis-2 is stopped/);
  expect(stateOf('redis-2')).toBe('stopped');
  const unknown = await lockstep('fault', 'kill', 'redis-9', '--json');
  expect(JSON.parse(unknown.stdout)).toMatchObject({ error: { code: 'UNKNOWN_SERVER' } });
  expect((await lockstep('fault', 'start', 'redis-2')).stdout).toBe('redis-2 runs.');
  expect(stateOf('redis-2')).toBe('runs');
  expect((await lockstep('fault', 'end')).stdout).toBe('The load ends.');
  const { stdout, exitCode } = await selling;
  expect(exitCode, stdout).toBe(0);
  expect(stdout).toMatch(/faults: 1 × stop redis-2\n[\s\S]*verdict: held/);
  expect(stdout.split('\n').filter((line) => line.length > 80 && !line.includes(runs))).toEqual([]);
  expect((await lockstep('fault', 'end')).stderr).toContain('NOTHING_TO_END');
}, 120_000);

test('`end` without a load, and without a lab, says what is missing', async () => {
  expect((await lockstep('fault', 'end')).stderr).toContain('NOTHING_TO_END');
  const nowhere = execa('node', [program, 'fault', 'end'], {
    env: { LOCKSTEP_LAB: someFolder() },
    reject: false,
  });
  expect((await nowhere).stderr).toContain('LAB_DOWN');
});
