/** `lockstep` as people call it: what it prints, and what its exit code says. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newDataFolder } from '../support/data-home.ts';
import { lockstepWith } from '../support/lockstep.ts';
import { ownLab } from '../support/own-lab.ts';

const runsFolder = newDataFolder();
afterAll(() => rmSync(runsFolder, { recursive: true }));

const lockstep = (words: string) =>
  lockstepWith({ LOCKSTEP_RUNS: runsFolder }, ...words.split(' '));

describe('lockstep run', () => {
  test('shows the headline: duplicates on four instances, as claimed, exit code 0', async () => {
    const { stdout, exitCode } = await lockstep('run mutex-per-user --instances 4 --seed 3 --json');
    const result = JSON.parse(stdout) as Record<string, unknown>;
    const some = expect.any(Number);
    expect(result).toMatchObject({
      ...{ rung: 'mutex-per-user', instances: 4, users: 100, stock: 20, seed: 3 },
      attempts: { accepted: some, refused: some, unknown: 0 },
      ...{ orders: some, stockLeft: some, oversoldBy: 0, ordersPerSecond: some },
      latencyMs: { p50: some, p99: some },
      ...{ verdict: 'violated', claim: 'violated', asClaimed: true },
    });
    expect(result['usersWithTwoOrders']).toBeGreaterThan(0);
    expect(exitCode).toBe(0);
  });

  test('holds on one instance, keeps a report, and the audit of its voucher reads what clients were told', async () => {
    const run = await lockstep('run mutex-per-user --instances 1 --json');
    const { verdict, voucherId } = JSON.parse(run.stdout) as { verdict: string; voucherId: string };
    expect(verdict).toBe('held');
    const report = readFileSync(join(runsFolder, 'latest', 'report.md'), 'utf8');
    expect(report).toContain('lockstep run mutex-per-user --instances 1');
    expect(existsSync(join(runsFolder, 'latest', 'report.json'))).toBe(true);
    const events = readFileSync(join(runsFolder, 'latest', 'events.jsonl'), 'utf8').split('\n');
    const kinds = events.filter(Boolean).map((line) => JSON.parse(line).kind);
    const order = ['started', 'service', 'on-sale', 'load-started', 'load-ended', 'verdict'];
    expect(kinds.filter((kind) => kind !== 'second')).toEqual(order);
    const audit = await lockstep(`audit ${voucherId}`);
    expect(audit.exitCode).toBe(0);
    expect(audit.stdout).toMatch(/held +responses-match-database/);
  });

  test('the audit of a voucher that nobody bought is unknown, with exit code 2', async () => {
    const { id } = JSON.parse((await lockstep('voucher lua-stream --json')).stdout);
    const audit = await lockstep(`audit ${id}`);
    expect(audit.stdout).toContain('there was no purchase, so there is nothing to judge');
    expect(audit.exitCode).toBe(2);
  });

  test('exits with 1 when the ladder’s claim does not show', async () => {
    // With one in stock nobody can get two: the claimed violation is missing, and that is not as
    // expected.
    const run = 'run mutex-per-user --instances 4 --stock 1 --json';
    const { stdout, exitCode } = await lockstep(run);
    const result = { claim: 'violated', asClaimed: false, usersWithTwoOrders: 0 };
    expect(JSON.parse(stdout)).toMatchObject(result);
    expect(exitCode).toBe(1);
  });

  test.each([
    ['run hope', 'UNKNOWN_RUNG'],
    ['run lua-stream --instances 0', 'must be a whole number from 1 to 16'],
    ['audit 007', 'INVALID_ID'],
    ['audit 999999999', 'UNKNOWN_VOUCHER'],
    ['up --database mysql', 'OTHER_DATABASE'],
    ['drill --database mysql', 'OTHER_DATABASE'],
    ['reconcile 7 --rebuild', 'REBUILD_OF_ONE'],
  ])('answers `%s` with exit code 2 and a sentence', async (words, sentence) => {
    const { stderr, exitCode } = await lockstep(words);
    expect(stderr).toContain(sentence);
    expect(exitCode).toBe(2);
  });
});

test('every line that people read fits 80 columns', async () => {
  const commands = ['ladder', 'status', '--help', 'race --list'];
  const outputs = await Promise.all(commands.map(lockstep));
  outputs.push(await lockstep('run check-then-insert'));
  const lines = outputs.flatMap(({ stdout }) => stdout.split('\n'));
  // A path is as long as it is.
  expect(lines.filter((line) => [...line].length > 80 && !/ \/\S+$/.test(line))).toEqual([]);
});

test('--help shows the commands in four groups', async () => {
  const { stdout } = await lockstep('--help');
  expect(stdout.match(/^\w+:$/gm)).toEqual([
    'Options:',
    ...['Learn:', 'Break:', 'Measure:', 'Operate:'],
    'Commands:', // That of commander itself: help.
  ]);
});

test('status says what runs, and that nothing runs, by its exit code', async () => {
  const up = await lockstep('status --json');
  expect(JSON.parse(up.stdout)).toMatchObject({ running: true, url: ownLab.baseUrl });
  expect(up.exitCode).toBe(0);
  const down = await lockstepWith({ LOCKSTEP_LAB: runsFolder }, 'status');
  expect(down.exitCode).toBe(1);
});
