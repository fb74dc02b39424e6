/** The k6 scripts as people run them: they pass where promises hold, and fail where they break. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { purchaseAnswers } from '../../src/http/routes/orders.ts';
import { ownLab } from '../support/own-lab.ts';
import { theLab } from '../support/the-lab.ts';

const folders = [
  join(process.cwd(), '.lockstep', 'bin'),
  ...(process.env['PATH'] ?? '').split(delimiter),
];
const isMissing = !folders.some((folder) => existsSync(join(folder, 'k6')));
if (isMissing)
  console.warn(
    'k6 IS MISSING: its tests are skipped. ' +
      'Get it: Go 1.26 and `npm run setup -- --with-k6`, or https://grafana.com/docs/k6',
  );

const thresholdsFailed = 99;
theLab();

type Settings = Readonly<Record<string, string>>;

async function k6(script: string, settings: Settings = {}, ...options: string[]) {
  const { exitCode, stdout, stderr } = await execa(
    'node',
    ['scripts/k6.mjs', `k6/${script}`, '--quiet', ...options],
    // Vitest sets BASE_URL for itself; without one, the lab is found by its folder.
    { env: { BASE_URL: '', LOCKSTEP_LAB: ownLab.folder, ...settings }, reject: false },
  );
  const section = (title: string): string => {
    const found = stdout.split('\n\n').find((part) => part.startsWith(title));
    if (found === undefined) throw new Error(`no ${title} in: ${stderr}\n${stdout}`);
    return found;
  };
  return { exitCode, stdout, stderr, section };
}

describe.skipIf(isMissing)('rush.js', () => {
  test('passes on the final rung: exactly the stock is sold', async () => {
    const { exitCode, stdout, section } = await k6('rush.js', { SECONDS: '2', STOCK: '100' });
    expect(stdout).toMatch(/^ {2}accepted +100$/m);
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('AVAILABILITY')).toContain('✓ 100 orders, 100 expected; 0 missing');
    expect(exitCode).toBe(0);
  });

  test('fails on safety where the stock is read and written back', async () => {
    const settings = { RUNG: 'read-then-write', WORK_MS: '20', SECONDS: '2', STOCK: '100' };
    const { exitCode, section } = await k6('rush.js', settings);
    expect(section('SAFETY')).toContain('✗ nothing is oversold');
    expect(exitCode).toBe(thresholdsFailed);
  });

  test('fails on availability alone where buyers are refused although stock is left', async () => {
    const load = { STOCK: '200', RATE: '100', SECONDS: '2', WORK_MS: '20' };
    const settings = { RUNG: 'version-check', AVAILABILITY: '1', ...load };
    const { exitCode, section } = await k6('rush.js', settings);
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('AVAILABILITY')).toContain('✗');
    expect(exitCode).toBe(thresholdsFailed);
  });
});

describe.skipIf(isMissing)('same-user.js', () => {
  test('passes on the final rung: every user has one order', async () => {
    const { exitCode, section } = await k6('same-user.js', { USERS: '50' });
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('AVAILABILITY')).toContain('✓ 50 orders, 50 expected; 0 missing');
    expect(exitCode).toBe(0);
  });

  test('fails on safety with a mutex in each of four processes', async () => {
    const settings = { RUNG: 'mutex-per-user', WORK_MS: '50', USERS: '50' };
    const { exitCode, section } = await k6('same-user.js', settings);
    expect(section('SAFETY')).toMatch(/✗ nobody has two orders: \d+ users/);
    expect(section('SAFETY')).toContain('✓ every accepted order is recorded');
    expect(exitCode).toBe(thresholdsFailed);
  });

  test('passes on a lock that refuses some requests as busy', async () => {
    const { exitCode, section } = await k6('same-user.js', { RUNG: 'redlock', USERS: '50' });
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('AVAILABILITY')).toContain('only reported');
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(isMissing)('soak.js', () => {
  test('sells one voucher after another, and audits each', async () => {
    const { exitCode, stdout, section } = await k6('soak.js', { SECONDS: '4', USERS: '100' });
    expect(stdout).toContain('soak.js on lua-stream, 4 vouchers');
    expect(section('SAFETY')).toContain('4 of 4 held');
    expect(section('AVAILABILITY')).toContain('✓ 320 orders, 320 expected; 0 missing');
    expect(section('DRIFT')).toMatch(/last tenth +\d/);
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(isMissing)('failover.js', () => {
  test('looks up every accepted order, and counts the seconds without a sale', async () => {
    const { exitCode, section } = await k6('failover.js', { SECONDS: '3', ANSWER_SECONDS: '2' });
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('SAFETY')).toContain('✓ every accepted order is found as confirmed');
    expect(section('AVAILABILITY')).toMatch(/\d of 3 seconds without a sale; longest gap \d s/);
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(isMissing)('npm run k6', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'lockstep-k6-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('prints a summary that fits 80 columns, and passes options to k6', async () => {
    const settings = { RUNG: 'check-then-insert', WORK_MS: '50', USERS: '20' };
    const file = join(folder, 'summary.json');
    const { stdout } = await k6('same-user.js', settings, `--summary-export=${file}`);
    expect(stdout).toContain('one-order-per-user violated: user');
    expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('metrics.safety_oversold');
  });

  test('says in one line that the lab is not running', async () => {
    const { exitCode, stderr } = await k6('rush.js', { LOCKSTEP_LAB: folder });
    expect(stderr).toMatch(/^The lab is not running: .*npm run up.*$/);
    expect(exitCode).toBe(2);
  });
});

describe('the sources', () => {
  const read = (path: string) => readFileSync(path, 'utf8');
  const scripts = readdirSync('k6', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => read(join('k6', file)));

  test('count every refusal of a purchase', () => {
    const others = ['forbidden', 'outcome-unknown'];
    const codes = ([403, 409, 410, 503] as const)
      .flatMap((status) => purchaseAnswers[status].description.split(', '))
      .filter((code) => !others.includes(code));
    expect(codes.length).toBeGreaterThan(5);
    for (const code of codes) expect(read('k6/lib/census.js')).toContain(`'${code}'`);
  });

  test('read no setting that a container would not get', () => {
    const pattern = /(?:__ENV\.|(?:number|positive|flag)\(')([A-Z_]+)/g;
    const names = scripts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name));
    expect(names).toContain('ANSWER_SECONDS');
    for (const name of names) expect(read('scripts/k6.mjs')).toContain(`'${name}'`);
  });
});
