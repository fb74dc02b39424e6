/** `lockstep bench` in a short form: its figures count, or the command says why not and fails. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { compileCopy } from '../../../src/lab/mutants/change.ts';
import { instancesByDefault } from '../../../src/service/config.ts';
import { httpServer } from '../../support/basics.ts';
import { newDataFolder } from '../../support/data-home.ts';
import { copySources } from '../../support/source-copy.ts';

/** Rungs that look fast, and sell nothing. */
const mutants = {
  'refuses-fast': "async () => ({ kind: 'refused', reason: 'sold-out' })",
  'sells-nothing': "async ({ id: orderId }) => ({ kind: 'accepted', orderId, status: 'queued' })",
};

/** A copy, so that the mutants are rows of its table, and of no other. */
function copyWithMutants(): string {
  const copy = copySources('bench', 'nginx');
  const insert = (file: string, line: RegExp, added: string) => {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    expect(text).toMatch(line);
    writeFileSync(
      path,
      text.replace(line, (found) => `${found}${added}`),
    );
  };
  for (const [name, sell] of Object.entries(mutants)) {
    insert(
      'service/ladder/rungs.ts',
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
  return execa('node', [join(copy, 'dist/cli/lockstep.js'), ...args], { env, reject: false });
}

beforeAll(async () => {
  folder = newDataFolder();
  copy = copyWithMutants();
  await compileCopy(copy);
  const { exitCode, stderr } = await lockstep('up');
  expect(exitCode, stderr).toBe(0);
}, 480_000);
afterAll(async () => {
  await lockstep('down');
  for (const each of [copy, folder]) rmSync(each, { recursive: true, force: true });
});

/** As every bench wants it: then none of those that follow restarts the service, twice each. */
async function serveWithoutHistory(): Promise<void> {
  const { Lab, defaultShape }: typeof import('../../../src/lab/environment/lab.ts') = await import(
    pathToFileURL(join(copy, 'dist/lab/environment/lab.js')).href
  );
  const lab = Lab.running(join(folder, 'lab'));
  const instances = instancesByDefault();
  await lab?.serve({ ...defaultShape, instances, settings: { HISTORY_FOLDER: '' } });
}

/** One round has no spread, so that no target is judged: no test looks at a speed. */
const short = ['--seconds', '1', '--rounds', '1', '--connections', '16', '--json'];

async function bench(...args: string[]) {
  const { stdout, stderr, exitCode } = await lockstep('bench', ...args, ...short);
  expect(stdout, stderr).not.toBe('');
  expect(stdout).not.toContain('NaN');
  return { exitCode, result: JSON.parse(stdout) };
}

const figure = { median: expect.any(Number), least: expect.any(Number), most: expect.any(Number) };

/** Answers every purchase with 200. @returns the file that describes it. */
async function otherService(sells: (count: number) => boolean): Promise<string> {
  let count = 0;
  const users = new Set<string | undefined>();
  const { url } = await httpServer((request, response) => {
    users.add(request.headers.authorization);
    response.end(JSON.stringify({ success: sells(++count) && request.method === 'POST' }));
  });
  writeFileSync(join(folder, 'users.txt'), 'user 1\nuser 2\nuser 3\n');
  const file = join(folder, 'beside.json');
  const description = {
    ...{ name: 'other', tokens: 'users.txt', sold: '"success":true' },
    url: `${url}/`,
    processes: { api: [process.pid] },
  };
  writeFileSync(file, JSON.stringify(description));
  onTestFinished(() => expect([...users].sort()).toEqual(['user 1', 'user 2', 'user 3']));
  return file;
}

// Each load lasts a second or two, and beside another drill all around it takes longer.
describe('lockstep bench', { timeout: 360_000 }, () => {
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
    await serveWithoutHistory();
  });

  test('measures any rung by one load, and does not fail for the refusals that it may give', async () => {
    const { result, exitCode } = await bench('--rung', 'version-check');
    expect(result.faults).toEqual([]);
    const [figures] = result.rungs;
    expect(figures).toMatchObject({ rung: 'version-check', recordedPerSecond: figure });
    expect(figures.refused).toEqual({ conflict: expect.any(Number) });
    expect(exitCode).toBe(0);
  });

  test('measures low rates, of instances that have just started and of warm ones', async () => {
    const { result, exitCode } = await bench('rates');
    const { rows, faults } = result;
    expect(rows.map(({ isCold }: { isCold: boolean }) => isCold)).toEqual([
      ...[true, true, true, true],
      ...[false, false, false, false, false],
    ]);
    for (const { p50Ms, p99Ms, cpu } of rows) {
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms);
      for (const role of ['load', 'nginx', 'api', 'redis', 'worker', 'database'])
        expect(cpu[role], role).toBeGreaterThan(0);
    }
    expect(exitCode).toBe(faults.length > 0 ? 1 : 0); // A busy machine may refuse some at 6,000/s.
  });

  test('lets users wait in a line that grows, and buy with their passes', async () => {
    const { result, exitCode } = await bench('waiting', '--rate', '200', '--line', '300');
    expect(result.faults).toEqual([]);
    const [calm, rush, without] = result.rows;
    expect(rush.waiting).toBeGreaterThan(calm.waiting);
    expect([calm, rush, without].map(({ inversions }) => inversions)).toEqual([0, 0, 0]);
    expect(without.answers).toEqual({ accepted: 200 });
    expect(exitCode).toBe(0);
  });

  /** The burst and the rate of `deploymentLimits`, and a half more: the load lasts a second. */
  const letThroughPerSecond = 900;
  test('floods the service beside purchases, and nginx refuses the flood within its limits', async () => {
    const { result, exitCode } = await bench('flood', '--rate', '200');
    expect(result.faults).toEqual([]);
    expect(result.rows).toHaveLength(10);
    for (const { flood, isLimited, answers, floodPerSecond, refusedPerSecond } of result.rows) {
      expect(answers).toEqual({ accepted: 200 });
      if (flood === null) continue;
      expect(floodPerSecond).toBeGreaterThan(refusedPerSecond);
      const hasLimit = isLimited && flood !== 'readiness'; // That one is answered by nginx.
      if (!hasLimit) expect(refusedPerSecond, flood).toBe(0);
      // A flood on a busy machine may stay below what the limits let through.
      else if (floodPerSecond > letThroughPerSecond)
        expect(refusedPerSecond, flood).toBeGreaterThan(0);
    }
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

  test('buys by the script alone exactly what was asked for, and all of it is recorded', async () => {
    const { result, exitCode } = await bench('--orders', '10000', '--by-script');
    expect(result).toMatchObject({ byScript: true, faults: [] });
    const { rows } = result;
    expect(rows).toMatchObject([{ orders: 10_000, redisBytesPerOrder: figure, workerMb: figure }]);
    expect(exitCode).toBe(0);
  });

  test('does not begin a load by HTTP that could not stop at the last unit', async () => {
    const { stderr, exitCode } = await lockstep('bench', '--orders', '5000001');
    expect(stderr).toContain('ORDERS_NEED_SCRIPT');
    expect(exitCode).toBe(2);
  });

  test('sells a voucher in buckets on masters of its own, and gives the lab back', async () => {
    const { result, exitCode } = await bench('buckets');
    expect(result.faults).toEqual([]);
    const { rows } = result;
    expect(rows.map(({ buckets }: { buckets: number }) => buckets)).toEqual([1, 2, 3, 4]);
    for (const { mastersCpu, apiCpu, end } of rows) {
      expect([...mastersCpu, apiCpu]).toEqual([figure, figure, figure, figure]);
      expect(end).toMatchObject({ oversold: 0, stranded: 0, soldOutWrongly: 0 });
    }
    const [one, , three] = rows;
    expect(one.end.transfers).toBe(0);
    expect(three.mastersCpu[2].median).toBeGreaterThan(one.mastersCpu[2].median);
    expect(exitCode).toBe(0);
    expect((await bench('--rung', 'lua-stream')).exitCode).toBe(0);
  }, 240_000);

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

  test('measures another service beside this one, and counts only what it sold', async () => {
    const file = await otherService((count) => count % 10 !== 0);
    const { result, exitCode } = await bench('--beside', file);
    expect(result.faults).toEqual([expect.stringMatching(/^other: [1-9]\d* not-sold$/)]);
    expect(exitCode).toBe(1);
    const [ours, theirs] = result.sellers;
    expect(ours).toMatchObject({ name: 'lockstep', acceptedPerSecond: figure });
    expect(ours.recording).toMatchObject({ recorded: figure, perSecond: figure });
    expect(theirs).toMatchObject({ name: 'other', acceptedPerSecond: figure, recording: null });
    for (const { cpu } of result.sellers) expect(cpu.api.median).toBeGreaterThan(0);
    expect(theirs.acceptedPerSecond.median).toBeLessThan(theirs.requestsPerSecond.median);
    expect(result.ratios).toMatchObject({ accepted: figure, recorded: null });
  });
});
