/** The lab as people meet it: alone, on free ports, and cleaned up after a crash. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test, vi } from 'vitest';
import { refuseFileWrites } from '../../src/lab/environment/data-folder.ts';
import { defaultShape, Lab } from '../../src/lab/environment/lab.ts';
import { OwnRedis } from '../../src/lab/environment/own-redis.ts';
import { freePorts } from '../../src/lab/environment/ports.ts';
import {
  childrenOf,
  isAlive,
  type ProcessRef,
  processRef,
  statFields,
} from '../../src/lab/environment/process-table.ts';
import { signalProcess, startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { alone } from '../../src/lab/environment/session.ts';
import { choosePorts, writeState } from '../../src/lab/environment/state.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder, withCode } from '../support/basics.ts';
import { startOwn } from '../support/servers.ts';

async function listenOn(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
}

test('a port that is taken is passed over, and a row of ports is free as a whole', async () => {
  const first = await freePorts(18_200, 4);
  await listenOn(first);
  expect(await freePorts(first)).toBeGreaterThan(first);
  await listenOn(first + 3);
  expect(await freePorts(first + 1, 4)).toBeGreaterThan(first + 3);
});

test('two labs that start at once, or beside one that restarts a server, share no port', async () => {
  const labs = await Promise.all([choosePorts(), choosePorts(), choosePorts()]);
  const blocks = labs.map(({ ports }) => ports.nginx);
  expect(new Set(blocks).size).toBe(3);
  const [, second] = labs;
  await listenOn(second?.ports.zookeeper ?? 0); // Its other servers are down for a moment.
  for (const { chosen } of labs) chosen();
  const again = await choosePorts();
  const next = await choosePorts();
  expect([again, next].map(({ ports }) => ports.nginx)).not.toContain(second?.ports.nginx);
  again.chosen();
  next.chosen();
});

test('two commands are never in one lab, and a lab is free again after its command', async () => {
  const lab = someFolder();
  await alone(lab, () =>
    expect(alone(lab, async () => 'both')).rejects.toThrow(withCode('LAB_BUSY')),
  );
  expect(await alone(lab, async () => 'alone')).toBe('alone');
});

const occupy = `
  const { alone } = await import(process.argv[1]);
  await alone(process.argv[2], () => {
    console.log('inside');
    return new Promise(() => setInterval(() => {}, 1_000));
  });`;
const session = new URL('../../dist/lab/environment/session.js', import.meta.url).href;

test('a killed command leaves its lab free, and of ten calls at once one enters', async () => {
  const lab = someFolder();
  const dead = execa('node', ['--input-type=module', '-e', occupy, session, lab], {
    reject: false,
  });
  await once(dead.stdout, 'data');
  dead.kill('SIGKILL');
  await dead;
  let entered = 0;
  const enter = () => alone(lab, async () => ++entered);
  const all = await Promise.allSettled(Array.from({ length: 10 }, enter));
  expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(entered).toBe(1);
});

test('a lab that stops gives a Redis its disk back first, and this Redis keeps what it answered', async () => {
  const folder = someFolder();
  const { ports, chosen } = await choosePorts();
  onTestFinished(chosen);
  const [port = 0] = ports.redlock;
  const redis = await startOwn(new OwnRedis({ folder, port, name: 'redis-1', fsync: 'everysec' }));
  const running = [{ ...redis.process, name: 'redis-1', port, hasFullDisk: true }];
  writeState(folder, { id: 'test', ports, database: 'mariadb', running, shape: defaultShape });
  await refuseFileWrites(redis.process.pid);
  await redis.admin.set('key', 'answered');
  await Lab.stop(folder);
  await redis.start();
  expect(await redis.admin.get('key')).toBe('answered');
});

const shell = (script: string) =>
  startProcess({ command: 'sh', args: ['-c', script], logFile: join(someFolder(), 'sh.log') });
async function shellWithChild() {
  const parent = shell('sleep 60 & wait');
  await waitUntil('the child to run', 20_000, () => childrenOf(parent.pid).length > 0);
  return { parent, child: childrenOf(parent.pid)[0] as ProcessRef };
}

test('the children of a killed server are ended with it: they would keep its port', async () => {
  const { parent, child } = await shellWithChild();
  process.kill(parent.pid, 'SIGKILL');
  await waitUntil('the parent to end', 20_000, () => !isAlive(parent));
  expect(isAlive(child)).toBe(true);
  await stopProcess(parent);
  expect(isAlive(child)).toBe(false);
});

test('a pause stops the children too, and a paused process can be stopped', async () => {
  const { parent, child } = await shellWithChild();
  const isPaused = () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').includes(') T ');
  signalProcess(parent, 'SIGSTOP');
  await waitUntil('the child to be paused', 20_000, isPaused);
  await stopProcess(parent);
  expect([isAlive(parent), isAlive(child)]).toEqual([false, false]);
});

test('the kernel schedules a program of the lab, and its children, as batch work', async () => {
  const { parent, child } = await shellWithChild();
  onTestFinished(() => stopProcess(parent));
  expect(schedulingPolicy(process.pid)).toBe('0');
  expect([parent, child].map(({ pid }) => schedulingPolicy(pid))).toEqual(['3', '3']);
});

test('where it cannot be batch work, it runs all the same', async () => {
  vi.resetModules();
  vi.stubEnv('PATH', '/without-chrt');
  onTestFinished(() => void vi.unstubAllEnvs());
  const fresh = await import('../../src/lab/environment/processes.ts');
  const logFile = join(someFolder(), 'sleep.log');
  const started = fresh.startProcess({ command: '/bin/sleep', args: ['60'], logFile });
  onTestFinished(() => stopProcess(started));
  expect(schedulingPolicy(started.pid)).toBe('0');
});

/** `man proc_pid_stat`: the 41st field, here without the first two; 3 is SCHED_BATCH. */
const schedulingPolicy = (pid: number) => statFields(`/proc/${pid}/stat`)[38];

test('only the process that was started is ended: its pid with another start time is somebody else’s', async () => {
  const program = { command: 'sleep', args: ['60'], logFile: join(someFolder(), 'sleep.log') };
  const started = startProcess(program);
  await stopProcess({ ...started, startedAt: '1' });
  expect(isAlive(started)).toBe(true);
  await stopProcess(started);
  expect(isAlive(started)).toBe(false);
  expect(processRef(started.pid)).toBeNull();
});
