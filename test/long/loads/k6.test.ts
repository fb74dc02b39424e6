/** The k6 scripts as people run them: they pass where promises hold, and fail where they break. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { httpServer, someFolder } from '../../support/basics.ts';
import { tokenFor } from '../../support/client.ts';
import { lacksK6 } from '../../support/k6.ts';
import { lockstep } from '../../support/lockstep.ts';
import { ownLab, theLab } from '../../support/own-lab.ts';

const thresholdsFailed = 99;
const couldNotTell = 2;
theLab();

type Settings = Readonly<Record<string, string>>;

/** Vitest sets BASE_URL for itself; without one, the lab is found by its folder. */
const ofTheLab = { BASE_URL: '' };
/** On a slow machine k6 begins fewer iterations than are planned. */
const patient = { ...ofTheLab, MOST_MISSED_PERCENT: '90' };
const strict = { MOST_MISSED_PERCENT: '1' };

async function k6(script: string, settings: Settings = {}, ...options: string[]) {
  const { exitCode, stdout, stderr } = await execa(
    'node',
    ['scripts/k6.mjs', `k6/${script}`, '--quiet', ...options],
    { env: { ...patient, LOCKSTEP_LAB: ownLab.folder, ...settings }, reject: false },
  );
  const section = (title: string): string => {
    const found = stdout.split('\n\n').find((part) => part.startsWith(title));
    if (found === undefined) throw new Error(`no ${title} in: ${stderr}\n${stdout}`);
    return found;
  };
  return { exitCode, stdout, stderr, section };
}

/** A server before the lab. @returns its address */
async function withoutEveryTenthRead(): Promise<string> {
  let reads = 0;
  const { url: before } = await httpServer((asked, answer) => {
    const { method, url = '', headers } = asked;
    const isRead = method === 'GET' && /^\/vouchers\/\d+$/.test(url);
    if (isRead && ++reads % 10 === 0) return void answer.writeHead(503).end();
    const forwarded = request(`${ownLab.baseUrl}${url}`, { method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    });
    asked.pipe(forwarded);
  });
  return before;
}

describe.skipIf(lacksK6)('rush.js', () => {
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

describe.skipIf(lacksK6)('a load that was not there', () => {
  test('cannot tell when k6 dropped iterations, although nothing is wrong', async () => {
    // Each sale takes four seconds, so that all 50 virtual users wait.
    const load = { ...strict, RATE: '50', SECONDS: '2', RUNG: 'redis-atomic', WORK_MS: '4000' };
    const { exitCode, stdout, section } = await k6('rush.js', load);
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('MEASUREMENT')).toMatch(
      /\? the load was sent: \d+ of 100 iterations begun, \d+ dropped/,
    );
    expect(stdout).toContain('RESULT  could not tell');
    expect(exitCode).toBe(couldNotTell);
  });

  test('cannot tell when the answers do not come in time, unless that is allowed', async () => {
    const load = { RATE: '20', SECONDS: '1', RUNG: 'redis-atomic', WORK_MS: '1500' };
    const settings = { ...load, ANSWER_SECONDS: '1', ...strict };
    const { exitCode, section } = await k6('rush.js', settings);
    expect(section('MEASUREMENT')).toMatch(/\? the answers are known: \d+ outcomes are unknown/);
    expect(section('LATENCY')).toMatch(/no answer +\d/);
    expect(exitCode).toBe(couldNotTell);
    const allowed = await k6('rush.js', { ...settings, MOST_MISSED_PERCENT: '200' });
    expect(allowed.section('MEASUREMENT')).not.toContain('?');
    expect(allowed.exitCode).toBe(0);
  });

  test('is still a violation when a promise was broken', async () => {
    const load = { RATE: '100', SECONDS: '2', STOCK: '5', MOST_MISSED_PERCENT: '0' };
    const settings = { ...load, RUNG: 'read-then-write', WORK_MS: '1500', ANSWER_SECONDS: '1' };
    const { exitCode, section } = await k6('rush.js', settings);
    expect(section('SAFETY')).toContain('✗ nothing is oversold');
    expect(section('MEASUREMENT')).toContain('?');
    expect(exitCode).toBe(thresholdsFailed);
  });
});

/** A sentence alone: no stack, and no line that no terminal can show. */
const sentence = /^test aborted: [^\n]{10,200}$/;

describe.skipIf(lacksK6)('what cannot be judged is refused at once', () => {
  test.each([
    ['no number', { STOCK: 'abc' }, [], 'STOCK must be at least 1, not abc'],
    ['no flag', { AVAILABILITY: 'yes' }, [], 'AVAILABILITY must be 0 or 1, not yes'],
    ['more than a day', { SECONDS: '86401' }, [], 'SECONDS must be 86400 at most, not 86401'],
    ['too many users', { SECONDS: '86400' }, [], '25920000 users are more than 2000000'],
    ['no rung', { RUNG: 'nope' }, [], 'nope is no rung: npx lockstep ladder has them'],
    ['another secret', { TOKEN_SECRET: 'x'.repeat(40) }, [], 'check TOKEN_SECRET, or TOKEN'],
    ['no service', { BASE_URL: 'http://127.0.0.1:9' }, [], 'no service answers at http://127.0.0'],
    ['no address', { BASE_URL: '127.0.0.1:9' }, [], 'BASE_URL must be like http://127.0.0.1:8080'],
    ['no voucher', { VOUCHER_ID: '9999999' }, [], 'has no voucher 9999999'],
    ['another load', {}, ['--vus', '1', '--iterations', '3'], 'the script plans its own load'],
    ['a part without a voucher', {}, ['--execution-segment', '0:1/2'], 'needs VOUCHER_ID'],
  ])('%s', async (_, settings, options, reason) => {
    const { exitCode, stdout, stderr } = await k6('rush.js', settings, ...options);
    const lines = stderr.split('\n').filter((line) => !line.includes('configuration overrode'));
    expect(lines).toEqual([expect.stringMatching(sentence)]);
    expect(lines[0]).toContain(reason);
    expect(stdout).toBe('');
    expect(exitCode).toBe(couldNotTell);
  });

  test('more vouchers than the audit can read', async () => {
    const { stderr, exitCode } = await k6('soak.js', {
      ...{ SECONDS: '3600', RATE: '600', USERS: '1000' },
    });
    expect(stderr).toContain('2160 vouchers are more than 2000: set USERS=1080');
    expect(exitCode).toBe(couldNotTell);
  });
});

describe.skipIf(lacksK6)('a load that is interrupted', () => {
  /** Ctrl-C after the first sales. */
  async function interrupted(script: string, settings: Settings) {
    const folder = someFolder();
    const args = ['scripts/k6.mjs', `k6/${script}`, '--quiet', '--out', 'json'];
    const env = { ...ofTheLab, LOCKSTEP_LAB: ownLab.folder, SUMMARY_FOLDER: folder, ...settings };
    const running = execa('node', args, { env, reject: false, detached: true });
    let told = '';
    running.stdout.on('data', (text: Buffer) => {
      if (told.split('"metric":"accepted","type":"Point"').length > 20) return;
      told += text.toString();
      if (told.split('"metric":"accepted","type":"Point"').length > 20)
        process.kill(-(running.pid ?? 0), 'SIGINT'); // The group, as a terminal does.
    });
    const { exitCode, stdout } = await running;
    const summary = JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8')) as unknown;
    return { exitCode, stdout, summary };
  }

  test.each([
    ['rush.js', { SECONDS: '30', RATE: '100' }],
    ['failover.js', { SECONDS: '30', RATE: '40' }],
    // Each purchase takes so long that some are in the service.
    ['rush.js', { SECONDS: '30', RATE: '60', RUNG: 'row-lock', WORK_MS: '20', STOCK: '900' }],
  ])('%s is unknown, and accuses nobody: %o', async (script, settings) => {
    const { exitCode, stdout, summary } = await interrupted(script, settings);
    expect(stdout).toMatch(/\? the load was sent: \d+ of \d+ iterations begun/);
    expect(stdout).not.toContain('  ✗ ');
    expect(summary).toMatchObject({ verdict: 'unknown', iterations: { isInterrupted: true } });
    expect(exitCode).toBe(couldNotTell);
  });
});

describe.skipIf(lacksK6)('a load from two generators', () => {
  test('has one voucher, and one verdict when both have ended', async () => {
    const folder = someFolder();
    const { stdout, exitCode: created } = await lockstep(
      ...['voucher', 'lua-stream', '--stock', '100', '--json'],
    );
    expect(created).toBe(0);
    const { id: VOUCHER_ID } = JSON.parse(stdout) as { id: string };
    const partOf = (part: string) => {
      const SUMMARY_FOLDER = join(folder, part.replace(/\W/g, ''));
      const options = ['--execution-segment', part, '--execution-segment-sequence', '0,1/2,1'];
      const settings = { VOUCHER_ID, SUMMARY_FOLDER, RATE: '100', SECONDS: '2' };
      return k6('rush.js', settings, ...options).then(({ exitCode, section }) => {
        expect(section('SAFETY')).toContain(`? the part ${part}: k6/together.js judges all parts`);
        expect(section('MEASUREMENT')).toMatch(/✓ the load was sent: \d+ of 100 iterations/);
        expect(exitCode).toBe(couldNotTell);
        return join(SUMMARY_FOLDER, 'summary.json');
      });
    };
    const parts = await Promise.all([partOf('0:1/2'), partOf('1/2:1')]);
    const both = await k6('together.js', { PARTS: parts.join(',') });
    expect(both.section('SAFETY')).not.toMatch(/[✗?]/);
    expect(both.section('AVAILABILITY')).toContain('✓ 100 orders, 100 expected; 0 missing');
    expect(both.section('MEASUREMENT')).toMatch(/✓ the load was sent: \d+ of 200 iterations/);
    expect(both.exitCode).toBe(0);
    const one = await k6('together.js', { PARTS: parts[0] ?? '' });
    expect(one.stderr).toContain('the parts plan 100 of 200 iterations: name each part once');
    expect(one.exitCode).toBe(couldNotTell);
    const again = await k6('rush.js', { VOUCHER_ID });
    expect(again.stderr).toContain(`voucher ${VOUCHER_ID} has orders of others`);
  });
});

describe.skipIf(lacksK6)('the latency', () => {
  test('is told for each kind of answer, and fails the run above P99_MS', async () => {
    const settings = { SECONDS: '1', STOCK: '20', RATE: '100', P99_MS: '60000' };
    const { exitCode, section } = await k6('rush.js', settings);
    for (const kind of ['accepted', 'sold out']) expect(section('LATENCY')).toContain(`  ${kind} `);
    expect(section('LATENCY')).toContain('✓ the p99 of all answers is at most 60000 ms');
    expect(exitCode).toBe(0);
    const slow = {
      ...settings,
      RUNG: 'read-then-write',
      WORK_MS: '50',
      P99_MS: '20',
      STOCK: '900',
    };
    const missed = await k6('rush.js', slow);
    expect(missed.section('LATENCY')).toContain('✗ the p99 of all answers is at most 20 ms');
    expect(missed.exitCode).toBe(thresholdsFailed);
  });
});

describe.skipIf(lacksK6)('ready tokens', () => {
  test('sell where the secret is not known: an operator’s, and a file of users’', async () => {
    const folder = someFolder();
    const TOKENS_FILE = join(folder, 'users.txt');
    const users = Array.from({ length: 21 }, (_, index) => tokenFor(String(index + 1), 'user'));
    writeFileSync(TOKENS_FILE, (await Promise.all(users)).join('\n'));
    const tokens = { TOKEN: await tokenFor('1', 'operator'), TOKENS_FILE };
    const settings = { TOKEN_SECRET: 'an-unknown-secret', RATE: '10', SECONDS: '2', STOCK: '5' };
    expect((await k6('rush.js', { ...settings, ...tokens })).exitCode).toBe(0);
    const tooMany = await k6('rush.js', { ...settings, ...tokens, RATE: '20' });
    expect(tooMany.stderr).toContain('TOKENS_FILE has 21 tokens, and the load needs 40');
    expect(tooMany.exitCode).toBe(couldNotTell);
  });
});

describe.skipIf(lacksK6)('ramp.js, spike.js and mixed.js', () => {
  test('a growing load has its latency for each fifth', async () => {
    const settings = { RATE: '150', SECONDS: '4', MOST_TIMES_SLOWER: '1000' };
    const { exitCode, stdout, section } = await k6('ramp.js', settings);
    expect(stdout).toMatch(/^ {2}accepted +[1-9]\d*$/m);
    expect(section('MEASUREMENT')).toContain(' of 330 iterations'); // From 15 a second to 150.
    expect(section('AVAILABILITY')).toContain('✓');
    expect(section('GROWTH').match(/\d+ to \d+\/s +[\d.]+ ms/g)).toHaveLength(5);
    expect(section('GROWTH')).toContain('✓ the p99 does not rise up to 123 to 150/s');
    expect(exitCode).toBe(0);
  });

  test('a spike has its latency before, inside and after', async () => {
    const { exitCode, stdout, section } = await k6('spike.js', {
      ...{ RATE: '200', SECONDS: '6', MOST_TIMES_SLOWER: '1000' },
    });
    expect(section('RECOVERY')).toContain('✓ after the spike it is as fast as before: p95 ');
    expect(section('RECOVERY')).toMatch(/before +[\d.]+ ms.*spike +[\d.]+ ms.*after +[\d.]+ ms/s);
    expect(stdout).toMatch(/^ {2}accepted +[1-9]\d*$/m);
    // Two seconds of 200, and four of 20.
    expect(section('MEASUREMENT')).toContain(' of 480 iterations');
    expect(section('AVAILABILITY')).toContain('✓');
    expect(exitCode).toBe(0);
  });

  test('a spike that still waits afterwards fails the run', async () => {
    const settings = { RUNG: 'row-lock', WORK_MS: '20', RATE: '150', SECONDS: '6' };
    const { exitCode, section } = await k6('spike.js', settings);
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('RECOVERY')).toContain('✗ after the spike it is as fast as before: p95 ');
    expect(exitCode).toBe(thresholdsFailed);
  });

  test('reads beside purchases are answered, all of them', async () => {
    const { exitCode, section } = await k6('mixed.js', { RATE: '50', SECONDS: '3', STOCK: '60' });
    expect(section('SAFETY')).toMatch(
      /✓ every read is answered with 200: [1-9]\d* reads, 0 were not/,
    );
    expect(section('MEASUREMENT')).toContain(' of 750 iterations');
    expect(section('READS')).toMatch(/[\d.]+ ms \/ /);
    expect(exitCode).toBe(0);
  });

  test('a read that is not answered with 200 fails the run', async () => {
    const BASE_URL = await withoutEveryTenthRead();
    const settings = { BASE_URL, RATE: '20', SECONDS: '2', STOCK: '20' };
    const { exitCode, section } = await k6('mixed.js', settings);
    expect(section('SAFETY')).toMatch(
      /✗ every read is answered with 200: \d+ reads, [1-9]\d* were not/,
    );
    expect(exitCode).toBe(thresholdsFailed);
  });
});

describe.skipIf(lacksK6)('waiting-room.js', () => {
  const load = { RATE: '100', SECONDS: '2', MOST_TIMES_SLOWER: '1000' };

  test('lets everybody wait in line, and everybody buys', async () => {
    const { exitCode, stdout, section } = await k6('waiting-room.js', { ...load, PASSES: '10' });
    expect(stdout).toMatch(/^ {2}accepted +[1-9]\d*$/m);
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('AVAILABILITY')).toMatch(/✓ (\d+) orders, \1 expected; 0 missing/);
    expect(section('PURCHASES')).toMatch(/calm .* ms[\s\S]*rush .* ms[\s\S]*✓ in the rush/);
    expect(section('WAITING')).toMatch(/\d ms$/m);
    expect(exitCode).toBe(0);
  });

  test('lets everybody buy at once without a waiting room', async () => {
    const { exitCode, stdout } = await k6('waiting-room.js', { ...load, PASSES: '0' });
    expect(stdout).toMatch(/^ {2}accepted +[1-9]\d*$/m);
    expect(stdout).not.toContain('WAITING');
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(lacksK6)('same-user.js', () => {
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

describe.skipIf(lacksK6)('soak.js', () => {
  test('sells one voucher after another, and audits each', async () => {
    const { exitCode, stdout, section } = await k6('soak.js', {
      ...{ SECONDS: '4', USERS: '40', MOST_TIMES_SLOWER: '1000' },
    });
    expect(stdout).toContain('soak.js on lua-stream, 10 vouchers');
    expect(section('SAFETY')).toContain('10 of 10 held');
    expect(section('AVAILABILITY')).toMatch(/✓ (\d+) orders, \1 expected; 0 missing/);
    expect(section('DRIFT')).toMatch(/last tenth +\d[\s\S]*✓ the last tenth is as fast/);
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(lacksK6)('failover.js', () => {
  test('looks up every accepted order, and counts the seconds without a sale', async () => {
    const { exitCode, section } = await k6('failover.js', { SECONDS: '3', ANSWER_SECONDS: '2' });
    expect(section('SAFETY')).not.toMatch(/[✗?]/);
    expect(section('SAFETY')).toContain('✓ every accepted order is found as confirmed');
    expect(section('AVAILABILITY')).toMatch(/\d of 3 seconds without a sale; longest gap \d s/);
    expect(exitCode).toBe(0);
  });
});

describe.skipIf(lacksK6)('npm run k6', () => {
  test('prints a summary that fits 80 columns, and passes options to k6', async () => {
    const settings = { RUNG: 'check-then-insert', WORK_MS: '50', USERS: '20' };
    const folder = someFolder();
    const file = join(folder, 'of-k6.json');
    const SUMMARY_FOLDER = join(folder, 'summary');
    const { stdout } = await k6(
      'same-user.js',
      { ...settings, SUMMARY_FOLDER },
      `--summary-export=${file}`,
    );
    expect(stdout).toContain('one-order-per-user violated: user');
    expect(stdout.split('\n').filter((line) => [...line].length > 80)).toEqual([]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('metrics.safety_oversold');
    const summary = join(SUMMARY_FOLDER, 'summary.json');
    expect(JSON.parse(readFileSync(summary, 'utf8'))).toMatchObject({
      ...{ script: 'same-user.js', verdict: 'violated', rung: 'check-then-insert' },
      startedAt: expect.stringMatching(/^2\d{3}-\d\d-/),
      load: { from: expect.any(String), to: expect.any(String), seconds: expect.any(Number) },
      settings: { USERS: '20', WORK_MS: '50' },
      iterations: { planned: 20, begun: 20, dropped: 0, interrupted: 0, isInterrupted: false },
      perSecond: { iterations: expect.any(Number), requests: expect.any(Number) },
      promises: expect.arrayContaining([
        { verdict: 'violated', sentence: expect.stringContaining('nobody has two orders') },
      ]),
    });
    expect(readFileSync(join(SUMMARY_FOLDER, 'index.html'), 'utf8')).toContain('RESULT  violated');
  });

  test('says in one line that the lab is not running', async () => {
    const { exitCode, stderr } = await k6('rush.js', { LOCKSTEP_LAB: someFolder() });
    expect(stderr).toMatch(/^The lab is not running: .*npm run up.*$/);
    expect(exitCode).toBe(2);
  });
});
