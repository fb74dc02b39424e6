/**
 * The k6 scripts, run for real: their thresholds pass where the promise holds, and fail where it
 * breaks.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, test } from 'vitest';
import { theLab } from '../support/the-lab.ts';

const folders = [
  join(process.cwd(), '.lockstep', 'bin'),
  ...(process.env['PATH'] ?? '').split(delimiter),
];
const k6 = folders.map((folder) => join(folder, 'k6')).find((path) => existsSync(path));
if (k6 === undefined)
  console.warn(
    'k6 IS MISSING: its tests are skipped. Get it: Go 1.26 and `npm run setup -- --with-k6`, or https://grafana.com/docs/k6',
  );

const thresholdsFailed = 99;
theLab();

async function run(script: string, env: Readonly<Record<string, string>>) {
  const variables = { BASE_URL: inject('baseUrl'), ...env };
  const { exitCode, all } = await execa(k6 ?? 'k6', ['run', '--quiet', `k6/${script}`], {
    env: variables,
    all: true,
    reject: false,
  });
  return { exitCode, output: all ?? '' };
}

describe.skipIf(k6 === undefined)('k6', () => {
  test('same-user.js fails on a mutex in each of four processes', async () => {
    const { exitCode, output } = await run('same-user.js', {
      RUNG: 'mutex-per-user',
      WORK_MS: '50',
      USERS: '50',
    });
    expect(output).toMatch(
      /✗ 'count==0' count=\d+[\s\S]*users_with_two_orders|users_with_two_orders[\s\S]*✗ 'count==0'/,
    );
    expect(exitCode).toBe(thresholdsFailed);
  });

  test('same-user.js passes on the final rung', async () => {
    const { exitCode, output } = await run('same-user.js', { RUNG: 'lua-stream', USERS: '50' });
    expect(output).toContain("✓ 'count==50' count=50");
    expect(exitCode).toBe(0);
  });

  test('rush.js passes on the final rung: exactly the stock is accepted', async () => {
    const { exitCode, output } = await run('rush.js', {
      RUNG: 'lua-stream',
      SECONDS: '2',
      STOCK: '100',
    });
    expect(output).toContain("✓ 'count==100' count=100");
    expect(exitCode).toBe(0);
  });

  test('rush.js fails where the stock is read and written back', async () => {
    const { exitCode } = await run('rush.js', {
      RUNG: 'read-then-write',
      WORK_MS: '20',
      SECONDS: '2',
      STOCK: '100',
    });
    expect(exitCode).toBe(thresholdsFailed);
  });
});
