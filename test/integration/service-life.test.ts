/**
 * The service’s processes: replaced when they die, drained when they stop; outside the lab only the
 * final rung.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { defaultShape } from '../../src/lab/environment/lab.ts';
import { isAlive, processRef } from '../../src/lab/environment/process-table.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { buy, call, deploymentSecret, openSale, putOnSale } from '../support/client.ts';
import { testConnections } from '../support/connections.ts';
import { ownLab, theLab } from '../support/own-lab.ts';
import { ownStores } from '../support/own-stores.ts';
import { deploy, startLoggedService } from '../support/service-process.ts';

const lab = theLab();

/** Never a signal to pid 0: that is everybody in this process's group. */
function there(pid: number | undefined): number {
  if (pid === undefined) throw new Error('there is no such process');
  return pid;
}

const primary = () => there(lab().servers.find(({ name }) => name === 'service')?.pid);
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
    const isReplaced = () => !children().includes(killed) && children().length === before;
    await waitUntil('a replacement', 20_000, isReplaced);
    const areAll = async () => (await instancesAnswering()) === 4;
    await waitUntil('four instances to answer', 20_000, areAll);
  });

  test('takes its children with it when it is killed', async () => {
    const orphans = children().flatMap((pid) => processRef(pid) ?? []);
    process.kill(primary(), 'SIGKILL');
    await waitUntil('the children to end', 20_000, () => !orphans.some(isAlive));
    await lab().serve(defaultShape);
  });
});

describe('SIGTERM', () => {
  afterEach(() => lab().serve(defaultShape));

  test('lets the request in flight finish, takes no new ones, and ends every process', async () => {
    const redis = testConnections().redis('admin');
    const voucherId = await putOnSale({ rung: 'redis-atomic', lab: { workMs: 3_000 } });
    const buying = buy(voucherId, 7);
    const all = [primary(), ...children()].flatMap((pid) => processRef(pid) ?? []);
    const lock = `lock:voucher:${voucherId}:user:7`;
    const isHeld = async () => (await redis.exists(lock)) === 1;
    await waitUntil('the request to hold its lock', 20_000, isHeld, 5);
    process.kill(primary(), 'SIGTERM');
    expect((await buying).httpStatus).toBe(201);
    await waitUntil('every process to end', 20_000, () => !all.some(isAlive));
    const { port } = lab().servers.find(({ name }) => name === 'service') ?? {};
    await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow();
  });
});

describe('outside the lab', () => {
  test('a deployment sells by its allowed rungs only, keeps the rails on, and has no lab routes', async () => {
    const { LAB: _lab, ALLOWED_RUNGS: _rungs, ...environment } = ownLab.environment;
    const own = { TOKEN_SECRET: deploymentSecret, ORDER_WORKERS: '0' };
    const { operate, post } = await deploy({ ...environment, ...own });
    const create = async (changes: object) =>
      (await operate('POST', '/vouchers', openSale({ ...changes }))).status;
    expect(await create({ rung: 'read-then-write' })).toBe(400);
    expect(await create({ lab: { workMs: 5 } })).toBe(400);
    expect(await create({})).toBe(201);
    expect((await post('/lab/noop', 7)).status).toBe(404);
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
