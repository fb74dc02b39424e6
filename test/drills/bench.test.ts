/** `lockstep bench` in a short form: its figures count, or the command says why not and fails. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newDataFolder } from '../support/data-home.ts';
import { compile, copySources } from '../support/source-copy.ts';

/** Rungs that look fast, and sell nothing. */
const mutants = {
  'refuses-fast': "async () => ({ kind: 'refused', reason: 'sold-out' })",
  'sells-nothing': "async ({ id: orderId }) => ({ kind: 'accepted', orderId, status: 'queued' })",
};

/** A copy, so that the mutants are rows of its table, and of no other. */
function copyWithMutants(): string {
  const copy = copySources('bench', 'nginx');
  const insert = (file: string, line: RegExp, added: string) => {
    const path = join(copy, 'src/ladder', file);
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(line);
    writeFileSync(
      path,
      text.replace(line, (found) => `${found}${added}`),
    );
  };
  for (const [name, sell] of Object.entries(mutants)) {
    insert(
      'rungs.ts',
      /^export const ladder = \{\n/m,
      `'${name}': rung({
        chapter: 6,
        scope: 'voucher',
        inventory: (c) => ({ ...luaStream(c.redis('purchase'), c.saleKeys), sell: ${sell} }),
        queue: streamGroup,
        rails: true,
      }),\n`,
    );
    for (const language of ['en', 'zh'])
      insert(
        `texts/${language}.ts`,
        /^ {2}rungs: \{\n/m,
        `'${name}': { idea: '${name}', lesson: '${name}' },\n`,
      );
  }
  return copy;
}

let copy: string;
let folder: string;
function lockstep(...args: string[]) {
  const env = { LOCKSTEP_LAB: join(folder, 'lab'), LOCKSTEP_RUNS: join(folder, 'runs') };
  return execa('node', [join(copy, 'dist/bin/lockstep.js'), ...args], { env, reject: false });
}

beforeAll(async () => {
  folder = newDataFolder();
  copy = copyWithMutants();
  await compile(copy);
  const { exitCode, stderr } = await lockstep('up');
  expect(exitCode, stderr).toBe(0);
}, 120_000);
afterAll(async () => {
  await lockstep('down');
  for (const each of [copy, folder]) rmSync(each, { recursive: true, force: true });
});

/** One round has no spread, so that no target is judged: no test looks at a speed. */
const short = ['--seconds', '1', '--rounds', '1', '--connections', '16', '--json'];

async function bench(...args: string[]) {
  const { stdout, stderr, exitCode } = await lockstep('bench', ...args, ...short);
  expect(stdout, stderr).not.toBe('');
  expect(stdout).not.toContain('NaN');
  return { exitCode, result: JSON.parse(stdout) };
}

const figure = { median: expect.any(Number), least: expect.any(Number), most: expect.any(Number) };

describe('lockstep bench', () => {
  test('compares a purchase with requests that do less, and counts the CPU of each process', async () => {
    const { result, exitCode } = await bench();
    expect(result).toMatchObject({ faults: [], ratioToBare: expect.any(Number), rounds: 1 });
    const names = ['nginx', 'node', 'bare', 'noop', 'purchase', 'sold-out'];
    expect(Object.keys(result.requests)).toEqual(names);
    for (const name of names) {
      const { requestsPerSecond, p99Ms, cpu } = result.requests[name];
      for (const each of [requestsPerSecond, p99Ms, cpu.nginx, cpu.api, cpu.load])
        expect(each, name).toEqual(figure);
    }
    const { nginx, bare, purchase } = result.requests;
    expect(nginx.cpu.api.median).toBeLessThan(bare.cpu.api.median);
    for (const role of ['redis', 'worker', 'database'])
      expect(purchase.cpu[role].median, role).toBeGreaterThan(0);
    expect(exitCode).toBe(0);
    const { stdout } = await lockstep('status');
    expect(stdout).toContain('nginx'); // The lab that was up is still up.
  });

  test('measures any rung by one load, and does not fail for the refusals that it may give', async () => {
    const { result, exitCode } = await bench('--rung', 'version-check');
    expect(result.faults).toEqual([]);
    const [figures] = result.rungs;
    expect(figures).toMatchObject({ rung: 'version-check', recordedPerSecond: figure });
    expect(figures.refused).toEqual({ conflict: expect.any(Number) });
    expect(exitCode).toBe(0);
  });

  test('starts RabbitMQ for the rung that sells by it', async () => {
    expect((await lockstep('status')).stdout).not.toContain('rabbitmq');
    const { result, exitCode } = await bench('--rung', 'rabbitmq');
    expect(result.faults).toEqual([]);
    expect(result.rungs).toMatchObject([{ rung: 'rabbitmq', recordedPerSecond: figure }]);
    expect(exitCode).toBe(0);
    expect((await lockstep('status')).stdout).toContain('rabbitmq');
  });

  test('fails when purchases are refused, however fast', async () => {
    const { result, exitCode } = await bench('--rung', 'refuses-fast');
    expect(result.faults).toEqual([
      expect.stringMatching(/^refuses-fast: [1-9]\d* sold-out$/),
      'refuses-fast: none accepted',
    ]);
    expect(exitCode).toBe(1);
  });

  test('fails when orders are accepted and not recorded, however fast', async () => {
    const { result, exitCode } = await bench('--rung', 'sells-nothing');
    expect(result.faults).toEqual([
      expect.stringMatching(/^sells-nothing: [1-9]\d* orders accepted, 0 recorded$/),
    ]);
    expect(exitCode).toBe(1);
  });
});
