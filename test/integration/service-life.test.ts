/**
 * The service’s processes: replaced when they die, drained when they stop; outside the lab only the
 * final rung.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Lab } from '../../src/lab/environment/lab.ts';
import { isAlive, processRef } from '../../src/lab/environment/process-table.ts';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { call, deploymentSecret, openSale, putOnSale, tokenFor } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { startLoggedService } from '../support/logged-service.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownStores } from '../support/own-stores.ts';

let lab: Lab;

beforeAll(() => {
  const running = Lab.running(ownLab.folder);
  if (!running) throw new Error('the lab is gone');
  lab = running;
});

/** Never a signal to pid 0: that is everybody in this process's group. */
function there(pid: number | undefined): number {
  if (pid === undefined) throw new Error('there is no such process');
  return pid;
}

const primary = () => there(lab.servers.find(({ name }) => name === 'service')?.pid);
const children = (of = primary()): number[] =>
  readFileSync(`/proc/${of}/task/${of}/children`, 'utf8').trim().split(' ').map(Number);
const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8');

async function instancesAnswering(): Promise<number> {
  const answers = await Promise.all(Array.from({ length: 16 }, () => call('/livez')));
  return new Set(answers.filter(({ ok }) => ok).map(({ headers }) => headers.get('x-instance')))
    .size;
}

describe('the primary', () => {
  test.each(['api.js', 'order-worker.js'])('replaces a killed %s', async (program) => {
    const killed = there(children().find((pid) => commandOf(pid).includes(program)));
    const before = children().length;
    process.kill(killed, 'SIGKILL');
    await waitUntil(
      'a replacement',
      10_000,
      () => !children().includes(killed) && children().length === before,
    );
    await waitUntil(
      'four instances to answer',
      10_000,
      async () => (await instancesAnswering()) === 4,
    );
  });

  test('takes its children with it when it is killed', async () => {
    const orphans = children().flatMap((pid) => processRef(pid) ?? []);
    process.kill(primary(), 'SIGKILL');
    await waitUntil('the children to end', 10_000, () => !orphans.some(isAlive));
    await lab.serve({ instances: 4, balancer: 'nginx' });
  });
});

describe('SIGTERM', () => {
  afterEach(() => lab.serve({ instances: 4, balancer: 'nginx' }));

  test('lets the request in flight finish, takes no new ones, and ends every process', async () => {
    const redis = testConnections().redis('admin');
    const voucherId = await putOnSale({ rung: 'redis-atomic', lab: { workMs: 1_000 } });
    const buying = call(`/vouchers/${voucherId}/orders`, {
      method: 'POST',
      token: await tokenFor('7'),
    });
    const service = processRef(primary());
    const all = children().flatMap((pid) => processRef(pid) ?? []);
    const lock = `lock:voucher:${voucherId}:user:7`;
    await waitUntil(
      'the request to hold its lock',
      5_000,
      async () => (await redis.exists(lock)) === 1,
      5,
    );
    process.kill(primary(), 'SIGTERM');
    expect((await buying).status).toBe(201);
    await waitUntil(
      'every process to end',
      15_000,
      () => ![...all, ...(service ? [service] : [])].some(isAlive),
    );
    await expect(
      fetch(`http://127.0.0.1:${lab.servers.find(({ name }) => name === 'service')?.port}/livez`),
    ).rejects.toThrow();
  });
});

describe('outside the lab', () => {
  test('a deployment sells by its allowed rungs only, keeps the rails on, and has no lab routes', async () => {
    const port = '17990';
    const { LAB: _lab, ALLOWED_RUNGS: _rungs, ...environment } = ownLab.environment;
    const service = startProcess({
      command: process.execPath,
      args: [new URL('../../dist/bin/service.js', import.meta.url).pathname],
      env: {
        ...environment,
        TOKEN_SECRET: deploymentSecret,
        PORT: port,
        INSTANCES: '1',
        ORDER_WORKERS: '0',
      },
      logFile: join(ownLab.folder, 'deployment.log'),
    });
    try {
      const baseUrl = `http://127.0.0.1:${port}`;
      await waitUntil('the deployment', 15_000, async () => (await fetch(`${baseUrl}/readyz`)).ok);
      const operator = await tokenFor('1', 'operator', deploymentSecret);
      const create = (changes: object) =>
        call('/vouchers', {
          method: 'POST',
          token: operator,
          body: openSale({ ...changes }),
          baseUrl,
        });
      const token = await tokenFor('7', 'user', deploymentSecret);
      expect((await create({ rung: 'read-then-write' })).status).toBe(400);
      expect((await create({ lab: { workMs: 5 } })).status).toBe(400);
      expect((await create({})).status).toBe(201);
      expect((await call('/lab/noop', { method: 'POST', token, baseUrl })).status).toBe(404);
    } finally {
      await stopProcess(service);
    }
  });

  test('children that stand still are killed and replaced, and a primary that did so kills none', async () => {
    const service = await startLoggedService({ ...(await ownStores()), INSTANCES: '1' });
    const running = () => [...service.events('listening'), ...service.events('working')].length;
    await waitUntil('both to run', 20_000, () => running() === 2);
    const before = children(service.pid);
    process.kill(service.pid, 'SIGSTOP');
    await sleep(3_000); // Longer than PROGRESS_WITHIN_MS: the primary hears nobody.
    process.kill(service.pid, 'SIGCONT');
    await sleep(1_500); // It looks twice.
    expect(children(service.pid)).toEqual(before);

    for (const child of before) process.kill(child, 'SIGSTOP');
    await waitUntil('others to run', 20_000, () => running() === 4);
    const silent = service.events('child-silent').map(({ pid }) => pid);
    expect(silent.toSorted()).toEqual(before.toSorted());
    const after = children(service.pid);
    expect([after.length, after.filter((pid) => before.includes(pid))]).toEqual([2, []]);
  });

  test('no log line of the lab holds a token or the secret', () => {
    const log = readFileSync(join(ownLab.folder, 'service.log'), 'utf8');
    expect(log.length).toBeGreaterThan(0);
    expect(log).not.toMatch(/Bearer|eyJ[\w-]{10}|lockstep-lab-secret/);
    // A child whose primary is killed while it starts ends with Node’s own words; everything else
    // is JSON.
    for (const line of log.split('\n').filter((text) => text.startsWith('{')))
      expect(JSON.parse(line)).toMatchObject({
        instance: expect.any(String),
        event: expect.any(String),
      });
  });
});
