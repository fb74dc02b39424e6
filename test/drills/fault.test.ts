/** `lockstep fault`: one server is broken by hand, the lab goes on, and `heal` mends everything. */
import { execa } from 'execa';
import { afterEach, expect, inject, test } from 'vitest';
import type { ServerState } from '../../src/lab/environment/lab.ts';
import { theLab } from '../support/the-lab.ts';

const lab = theLab();
const program = new URL('../../scripts/lockstep.mjs', import.meta.url).pathname;

const lockstep = (...args: string[]) =>
  execa('node', [program, ...args], {
    env: { LOCKSTEP_LAB: inject('labFolder') },
    reject: false,
  });

async function stateOf(name: string): Promise<ServerState | undefined> {
  const { stdout } = await lockstep('status', '--json');
  const { running, servers } = JSON.parse(stdout) as { running: boolean; servers: ServerState[] };
  expect(running).toBe(true);
  return servers.find((server) => server.name === name);
}

afterEach(async () => {
  expect((await lockstep('fault', 'heal')).exitCode).toBe(0);
});

test.each(['stop', 'kill'])(
  'after %s, the lab runs on without redis-2 until it is started',
  async (verb) => {
    expect((await lockstep('fault', verb, 'redis-2')).exitCode).toBe(0);
    expect(await stateOf('redis-2')).toMatchObject({ alive: false });
    expect((await lockstep('fault', 'start', 'redis-2')).exitCode).toBe(0);
    expect(await stateOf('redis-2')).toMatchObject({ alive: true, paused: false });
  },
);

test('a paused nginx answers nothing, also not from its workers, until it is resumed', async () => {
  const answers = () =>
    fetch(`${lab().baseUrl}/livez`, { signal: AbortSignal.timeout(1_000) }).then(({ ok }) => ok);
  expect(await answers()).toBe(true);
  await lockstep('fault', 'pause', 'nginx');
  expect(await stateOf('nginx')).toMatchObject({ alive: true, paused: true });
  await expect(answers()).rejects.toThrow('timeout');
  await lockstep('fault', 'resume', 'nginx');
  expect(await answers()).toBe(true);
});

test('heal mends a stopped store, a paused one, a killed nginx and a paused instance', async () => {
  const faults = ['stop redis-1', 'pause mariadb', 'kill nginx', 'pause api-1', 'kill api-2'];
  for (const fault of faults)
    expect((await lockstep('fault', ...fault.split(' '))).exitCode, fault).toBe(0);
  const { exitCode, stdout } = await lockstep('fault', 'heal');
  expect(stdout).toBe('Every server runs and answers.');
  expect(exitCode).toBe(0);
  for (const name of ['redis-1', 'mariadb', 'nginx'])
    expect(await stateOf(name)).toMatchObject({ alive: true, paused: false });
  expect((await fetch(`${lab().baseUrl}/readyz`)).status).toBe(200);
});

test('an unknown server and a missing one are refused with the names that exist', async () => {
  const unknown = await lockstep('fault', 'kill', 'redis-9');
  expect(unknown.exitCode).toBe(2);
  expect(unknown.stderr).toMatch(/UNKNOWN_SERVER[\s\S]*redis-3[\s\S]*api-worker-1/);
  const missing = await lockstep('fault', 'kill');
  expect(missing.exitCode).toBe(2);
  expect(missing.stderr).toContain('SERVER_NAME_MISSING');
});
