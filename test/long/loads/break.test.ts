/** `break` in one terminal, `fault` in another: what breaks is in the record, and then audited. */
import { expect, test } from 'vitest';
import { Lab } from '../../../src/lab/environment/lab.ts';
import { someFolder } from '../../support/basics.ts';
import { lacksK6 } from '../../support/k6.ts';
import { lockstep, lockstepWith } from '../../support/lockstep.ts';
import { ownLab } from '../../support/own-lab.ts';

const stateOf = (name: string) =>
  Lab.running(ownLab.folder)?.parts.find((part) => part.name === name)?.state;

/** It sells. */
async function begun(rung: string, more: readonly string[] = [], settings = {}) {
  const runs = someFolder();
  const selling = lockstepWith({ ...settings, LOCKSTEP_RUNS: runs }, 'break', rung, ...more);
  let told = '';
  selling.stderr.on('data', (text) => {
    told += text;
  });
  const stderr = () => told;
  await expect.poll(stderr, { timeout: 120_000 }).toContain(`load: ${rung}`);
  return { selling, runs, stderr };
}

test('a fault from another terminal is in the record of `break`, and end brings the audit', async () => {
  const { selling, runs } = await begun('lua-stream');
  expect((await lockstep('fault', 'stop', 'redis-2')).stdout).toMatch(/^redis-2 is stopped/);
  expect(stateOf('redis-2')).toBe('stopped');
  expect((await lockstep('fault', 'stop', 'redis-2')).stdout).toMatch(/^Nothing changes/);
  for (const said of ['redis-3 is cut off: ', 'Nothing changes: redis-3 is cut off: '])
    expect((await lockstep('fault', 'drop', 'redis-3')).stdout).toContain(said);
  expect((await lockstep('fault', 'stop', 'api-2')).stdout).toMatch(/the service starts another/);
  const unknown = await lockstep('fault', 'kill', 'redis-9', '--json');
  expect(JSON.parse(unknown.stdout)).toMatchObject({ error: { code: 'UNKNOWN_SERVER' } });
  expect((await lockstep('fault', 'start', 'redis-2')).stdout).toBe('redis-2 runs.');
  expect(stateOf('redis-2')).toBe('runs');
  expect((await lockstep('fault', 'end')).stdout).toBe('The load ends.');
  const { stdout, exitCode } = await selling;
  expect(exitCode, stdout).toBe(0);
  expect(stdout).toMatch(
    /faults: 1 × stop redis-2, 1 × drop redis-3, 1 × stop api-2\n[\s\S]*verdict: held/,
  );
  const broken =
    /[\d.]+ stop redis-2, [\d.]+ drop redis-3, [\d.]+ stop api-2, [\d.]+ start redis-2, [\d.]+ end/;
  const repeat = `npx lockstep drill --on lua-stream --faults '${broken.exec(stdout)?.[0]}'`;
  expect(stdout).toContain(`${repeat} --per-second 100 --minutes 5\n`);
  expect(longLines(stdout, runs)).toEqual([]);
  expect((await lockstep('fault', 'end')).stderr).toContain('NOTHING_TO_END');
}, 240_000);

const longLines = (text: string, runs: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.length > 80 && !line.includes(runs) && !line.includes('npx lockstep'));

/** From and to, and what the table says of the fault after that. */
const faultRow = (text: string, fault: string) =>
  new RegExp(`^${fault} +([\\d.]+) +([\\d.]+) +(.*)$`, 'm').exec(text)?.slice(1) ?? [];

test('the faults of a line come at their times, and what nobody mended is mended and said', async () => {
  const runs = someFolder();
  const faults =
    '2 stop redis-1, 2.5 pause redis-2, 2.5 stop redis-1, 4.5 resume redis-2, 6 start redis-1, ' +
    '7 slow redis-3 --ms 1, 8 end';
  const load = ['--per-second', '40', '--minutes', '0.05']; // The last step makes it longer.
  const drill = ['drill', '--on', 'redlock', '--faults', faults, ...load];
  const { stdout, stderr, exitCode } = await lockstepWith({ LOCKSTEP_RUNS: runs }, ...drill);
  expect(exitCode, stdout + stderr).toBe(0);
  const [from, to, stopped] = faultRow(stdout, 'stop redis-1');
  const [pausedFrom, pausedTo] = faultRow(stdout, 'pause redis-2');
  const times = [from, pausedFrom, pausedTo, to].map(Number);
  for (const [index, planned] of [2, 2.5, 4.5, 6].entries())
    expect(times[index], stdout).toBeGreaterThanOrEqual(planned - 0.1); // A server starts slowly.
  expect(stopped).toMatch(/^\d+ +[1-9]\d* +\d+ +0 +(–|\d+)$/); // Refused; and none lost.
  expect(stderr).toContain('2.5 stop redis-1: Nothing changes: redis-1 is stopped already.');
  // It ends with the load: at most a purchase that was sent before is sold after it.
  expect(faultRow(stdout, 'slow redis-3 by 1 ms')[2]).toMatch(/ 0 +(–|\d+)$/);
  expect(stdout).toMatch(/Nobody had mended slow redis-3 by 1 ms at the end of the load/);
  expect(stdout).toMatch(/redlock: \d+ accepted[\s\S]*every promise held[\s\S]*verdict: held/);
  const repeat = `drill --on redlock --faults '${faults}' ${load.join(' ')}`;
  expect(stdout).toContain(`npx lockstep ${repeat}\n`);
  expect(longLines(stdout, runs)).toEqual([]);
}, 240_000);

test('buyers come in a rush, and no more of them after the end', async () => {
  const { selling, stderr } = await begun('lua-stream', [
    '--arrivals',
    'rush',
    '--per-second',
    '20',
  ]);
  await expect.poll(stderr).toMatch(/\n +0 +\d/); // A second is over.
  await lockstep('fault', 'end');
  const { stdout, exitCode } = await selling;
  expect(exitCode, stdout).toBe(0);
  expect(stdout).toMatch(/attempts: 200\n[\s\S]*verdict: held/); // The next 200 would come in 10 s.
}, 240_000);

test.skipIf(lacksK6)(
  'k6/failover.js buys while an instance is killed, and says which promises it saw kept',
  async () => {
    const load = ['--arrivals', 'k6', '--minutes', '0.2'];
    // k6 itself may stand still for a while.
    const { selling, stderr } = await begun('lua-stream', load, { MOST_MISSED_PERCENT: '90' });
    expect((await lockstep('fault', 'kill', 'api-2')).stdout).toMatch(/^api-2 is killed/);
    const { stdout, exitCode } = await selling;
    expect(exitCode, stdout).toBe(0);
    expect(stdout).toMatch(/recorded: [\d,]+\n[\s\S]*faults: 1 × kill api-2\n[\s\S]*verdict: held/);
    expect(stderr()).toMatch(/k6: ✓ every accepted order is recorded: \d+ accepted/);
  },
  240_000,
);

test('`end` without a lab says what is missing', async () => {
  const nowhere = lockstepWith({ LOCKSTEP_LAB: someFolder() }, 'fault', 'end');
  expect((await nowhere).stderr).toContain('LAB_DOWN');
});
