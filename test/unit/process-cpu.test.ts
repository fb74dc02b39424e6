/** The CPU time of processes: nothing is lost, nothing is counted twice, and unknown is not 0. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  beginCpuPeriod,
  type CpuReading,
  cpuBetween,
  cpuPerRequest,
  readCpu,
} from '../../src/lab/benchmarks/cpu-by-role.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';

const busy = `(microseconds, used = () => process.cpuUsage().user + process.cpuUsage().system) => {
  const from = used();
  while (used() - from < microseconds);
}`;

/** Runs a line of code for each line of its input; each is answered when it has been run. */
async function node(code: string): Promise<{ pid: number; run: () => Promise<void> }> {
  const program = `
    const busy = ${busy};
    const run = ${code};
    process.stdin.on('data', async () => { await run(); console.log('done'); });
    console.log('ready');`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const run = async () => {
    child.stdin.write('\n');
    await once(child.stdout, 'data');
  };
  return { pid: pidOf(child), run };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the process did not start');
  return pid;
}

const time = 300_000;
/** Beside the loop there are the process's own milliseconds; a tick is 10 ms. */
const least = time - 30_000;

async function measured(code: string): Promise<number> {
  const { pid, run } = await node(code);
  const before = readCpu(pid);
  await run();
  return cpuBetween(before, readCpu(pid)) ?? Number.NaN;
}

describe('the CPU time of a process', () => {
  test('is what its own counter says', async () => {
    const { pid, run } = await node(`() => busy(${time})`);
    const before = readCpu(pid);
    await run();
    const after = readCpu(pid);
    expect(cpuBetween(before, after)).toBeGreaterThan(least);
    expect(cpuBetween(before, after)).toBeLessThan(2 * time);
    expect(cpuBetween(after, after)).toBe(0);
  });

  test('has the time of a thread that ended during the period', async () => {
    const inThread = `() => new Promise((resolve) =>
      new (require('node:worker_threads').Worker)('(' + busy + ')(${time})', { eval: true })
        .once('exit', resolve))`;
    expect(await measured(inThread)).toBeGreaterThan(least);
  });

  test('has the time of a child that ended during the period', async () => {
    const inChild = `() => require('node:child_process')
      .execFileSync(process.execPath, ['-e', '(' + busy + ')(${time})'])`;
    expect(await measured(inChild)).toBeGreaterThan(least);
  });

  const reading = (given: Partial<CpuReading>): CpuReading => ({
    ...{ startedAt: '1', inTicks: 0, byThreads: 0, ofChildren: 0 },
    ...given,
  });

  test('is exact where no thread ended, and in ticks where one did', () => {
    const before = reading({ inTicks: 10_000, byThreads: 15_000 });
    const exact = reading({ inTicks: 30_000, byThreads: 48_000 });
    expect(cpuBetween(before, exact)).toBe(33_000);
    expect(cpuBetween(before, reading({ inTicks: 90_000, byThreads: 16_000 }))).toBe(80_000);
  });

  test('is in ticks on a kernel that counts no threads', () => {
    const before = reading({ byThreads: null });
    expect(cpuBetween(before, reading({ inTicks: 40_000, byThreads: null }))).toBe(40_000);
  });

  test('is unknown for a process that vanished, and for another one with its pid', () => {
    expect(cpuBetween(reading({}), null)).toBeNull();
    expect(cpuBetween(null, reading({}))).toBeNull();
    expect(cpuBetween(reading({}), reading({ startedAt: '2' }))).toBeNull();
  });
});

describe('the CPU time of a role', () => {
  const api = ({ pid }: { pid: number }) => ({ role: 'api', pid }) as const;

  test('is the sum of its processes, and 0 for a role without any', async () => {
    const processes = [await node(`() => busy(${time})`), await node(`() => busy(${time})`)];
    const end = beginCpuPeriod(() => processes.map(api));
    await Promise.all(processes.map(({ run }) => run()));
    const { api: sum, worker } = end();
    expect(sum).toBeGreaterThan(2 * least);
    expect(worker).toBe(0);
  });

  test('is unknown when one of its processes ended, also while it is a zombie', async () => {
    const [one, other] = [await node('() => {}'), await node('() => {}')];
    const end = beginCpuPeriod(() => [one, other].map(api));
    process.kill(other.pid, 'SIGKILL');
    await waitUntil('the process to end', 5_000, () => readCpu(other.pid) === null);
    expect(end().api).toBeNull();
  });

  test('is unknown when a process was replaced by one with another pid', async () => {
    const [old, fresh] = [await node('() => {}'), await node('() => {}')];
    let now = [old];
    const end = beginCpuPeriod(() => now.map(api));
    now = [fresh];
    expect(end().api).toBeNull();
  });

  test('is never NaN for a request: without requests it is unknown', () => {
    const end = beginCpuPeriod(() => []);
    const cpu = { ...end(), api: 300, worker: null };
    expect(cpuPerRequest(cpu, 3)).toMatchObject({ api: 100, worker: null, nginx: 0 });
    expect(cpuPerRequest(cpu, 0)).toMatchObject({ api: null, nginx: null });
  });
});
