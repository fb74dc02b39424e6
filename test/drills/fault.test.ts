/** Faults by hand: one server is broken, the lab goes on, and `heal` mends everything. */
import { afterEach, expect, test } from 'vitest';
import { faultOn, runAgain, soAlready } from '../../src/lab/faults/faults.ts';
import { lockstep } from '../support/lockstep.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab();

const stateOf = (name: string) => lab().servers.find((server) => server.name === name);
const answers = () =>
  fetch(`${lab().baseUrl}/livez`, { signal: AbortSignal.timeout(4_000) }).then(({ ok }) => ok);

afterEach(() => lab().heal());

test.each(['stop', 'kill'] as const)('after %s, the lab runs on without redis-2', async (verb) => {
  await lab().server('redis-2')[verb]();
  expect(stateOf('redis-2')).toMatchObject({ alive: false });
  expect(lab().isRunning()).toBe(true);
  await lab().server('redis-2').start();
  expect(stateOf('redis-2')).toMatchObject({ alive: true, paused: false });
});

test('a server that ended by itself is missing: the lab does not run', async () => {
  process.kill(stateOf('redis-3')?.pid ?? 0, 'SIGKILL');
  await expect.poll(() => stateOf('redis-3')?.alive).toBe(false);
  expect(lab().isRunning()).toBe(false);
});

test('a paused nginx answers nothing, also not from its workers, until it is resumed', async () => {
  expect(await answers()).toBe(true);
  const paused = await lockstep('fault', 'pause', 'nginx');
  expect(paused.exitCode).toBe(0);
  expect(paused.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect((await lockstep('status')).stdout).toMatch(/nginx.*paused/);
  await expect(answers()).rejects.toThrow('timeout');
  expect((await lockstep('fault', 'heal')).stdout).toBe('Every server runs and answers.');
  expect(await answers()).toBe(true);
});

test.each(['redis-main', 'nginx', 'api-2', 'api-worker-1'])(
  'while %s is paused, a command says so at once and how to end it, also as JSON',
  async (name) => {
    await lab().server(name).pause();
    const { exitCode, stdout, stderr } = await lockstep('run', 'lua-stream', '--json');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`LAB_HAS_FAULT: ${name} is paused`);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect(error.code).toBe('LAB_HAS_FAULT');
    expect(error.message).toContain('npx lockstep fault heal');
  },
);

test('a stopped database is in the way of a command, and a lock server is not', async () => {
  await lab().server('redis-2').pause();
  expect(lab().faultInTheWay()).toBeUndefined();
  await lab().server('mariadb').stop();
  expect(lab().faultInTheWay()).toEqual({ name: 'mariadb', state: 'stopped' });
});

test('heal mends a stopped store, a paused one, a killed nginx and a paused instance', async () => {
  await lab().server('redis-1').stop();
  await lab().server('mariadb').pause();
  await lab().server('nginx').kill();
  await lab().server('api-1').pause();
  await lab().server('api-2').kill();
  await lab().heal();
  for (const name of ['redis-1', 'mariadb', 'nginx'])
    expect(stateOf(name)).toMatchObject({ alive: true, paused: false });
  expect((await fetch(`http://127.0.0.1:${lab().portOf('api-1')}/readyz`)).status).toBe(200);
});

test('what is so already is said, and what a stopped server cannot do is refused', async () => {
  await lab().server('redis-2').stop();
  const again = await lockstep('fault', 'stop', 'redis-2');
  expect(again.stdout).toBe('Nothing changes: redis-2 is stopped already.');
  expect(again.exitCode).toBe(0);
  expect(soAlready(lab(), 'kill', 'redis-2')?.en).toContain('is stopped already');
  expect(soAlready(lab(), 'drop', 'redis-2')).toBeNull(); // Its network can be cut all the same.
  const down = { code: 'SERVER_DOWN' };
  for (const verb of ['pause', 'restart', 'flush-all', 'fill-disk'] as const)
    expect(() => soAlready(lab(), verb, 'redis-2')).toThrow(expect.objectContaining(down));
  await expect(runAgain(lab(), 'resume', 'redis-2')).rejects.toMatchObject(down);
  expect((await runAgain(lab(), 'start', 'redis-2')).en).toBe('redis-2 runs.');
  expect(soAlready(lab(), 'start', 'redis-2')?.en).toContain('redis-2 runs already');
  await lab().server('api-3').pause();
  expect(soAlready(lab(), 'pause', 'api-3')?.en).toContain('api-3 is paused already');
  expect((await runAgain(lab(), 'start', 'api-3')).en).toBe('api-3 runs.');
  expect(lab().stateOf('api-3')).toBe('runs');
});

test('an unknown server and a missing one are refused with the names that exist', async () => {
  const unknown = await lockstep('fault', 'kill', 'redis-9');
  expect(unknown.exitCode).toBe(2);
  expect(unknown.stderr).toMatch(/UNKNOWN_SERVER[\s\S]*redis-3[\s\S]*api-worker-1/);
  const missing = await lockstep('fault', 'kill');
  expect(missing.exitCode).toBe(2);
  expect(missing.stderr).toContain('SERVER_NAME_MISSING');
});

test.each([
  ['flush-all', 'nginx', 'NOT_A_REDIS'],
  ['flush-scripts', 'mariadb', 'NOT_A_REDIS'],
  ['flush-all', 'redis-lab', 'NOT_A_REDIS'],
  ['fill-disk', 'nginx', 'NOT_A_REDIS'],
  ['hold-replication', 'zookeeper', 'NOT_A_REDIS'],
  ['promote-replica', 'mariadb', 'NOT_A_REDIS'],
  ['restart-empty', 'service', 'NO_DATA_TO_LOSE'],
  ['restart-empty', 'api-1', 'UNKNOWN_SERVER'],
  ['block-event-loop', 'redis-1', 'UNKNOWN_SERVER'],
  ['slow', 'nginx', 'NOT_PROXIED'],
  ['drop', 'redis-2', 'NETWORK_MISSING'],
] as const)('%s %s is refused as %s, and nothing changes', async (verb, name, code) => {
  const before = lab().servers;
  const inject = async () => faultOn(verb, name, 1_000).inject(lab());
  await expect(inject()).rejects.toMatchObject({ code });
  expect(lab().servers).toEqual(before);
});
