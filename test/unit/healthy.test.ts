/** containers/healthy.sh: what the health of a container depends on. */
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, test } from 'vitest';
import { httpServer, someFolder } from '../support/basics.ts';

/** An instance that answers `status`. @returns its port */
async function instanceThatAnswers(status: number): Promise<string> {
  const { port } = await httpServer((request, response) => {
    response.writeHead(request.url === '/readyz' ? status : 404).end();
  });
  return String(port);
}

async function healthy(given: Readonly<Record<string, string>>) {
  const env = { INSTANCES: '0', ORDER_WORKERS: '0', ...given };
  const { exitCode, stdout } = await execa('containers/healthy.sh', { env, reject: false });
  return { exitCode, stdout };
}

describe('a container with an instance', () => {
  test('is healthy when the instance answers that it is ready', async () => {
    const PORT = await instanceThatAnswers(200);
    expect(await healthy({ INSTANCES: '1', PORT })).toEqual({ exitCode: 0, stdout: '' });
  });

  test('is not healthy when the instance answers 503, or does not answer', async () => {
    const PORT = await instanceThatAnswers(503);
    const stdout = `no instance is ready on port ${PORT}`;
    expect(await healthy({ INSTANCES: '1', PORT })).toEqual({ exitCode: 1, stdout });
    expect(await healthy({ INSTANCES: '1', PORT: '1' })).toMatchObject({ exitCode: 1 });
  });
});

describe('a container with order workers', () => {
  const progressed = (folder: string, name: string, secondsAgo: number) => {
    const at = Date.now() / 1_000 - secondsAgo;
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), at, at);
  };

  test('is healthy when every consumer of every worker made progress lately', async () => {
    const HEARTBEAT_FOLDER = someFolder();
    for (const name of ['a-0-0.progress', 'a-0-1.progress', 'b-0-0.progress', 'b-0-1.progress'])
      progressed(HEARTBEAT_FOLDER, name, 5);
    const env = { ORDER_WORKERS: '2', SALE_SHARDS: '2', HEARTBEAT_FOLDER };
    expect(await healthy(env)).toEqual({ exitCode: 0, stdout: '' });
  });

  test('is not healthy when one consumer makes no progress, although its process runs', async () => {
    const HEARTBEAT_FOLDER = someFolder();
    progressed(HEARTBEAT_FOLDER, 'a-0-0.progress', 5);
    progressed(HEARTBEAT_FOLDER, 'b-0-0.progress', 60);
    const stdout = '1 of 2 consumers made progress in the last 11 seconds';
    const env = { ORDER_WORKERS: '2', HEARTBEAT_FOLDER };
    expect(await healthy(env)).toEqual({ exitCode: 1, stdout });
    // And before the first progress.
    expect(await healthy({ ...env, HEARTBEAT_FOLDER: someFolder() })).toMatchObject({
      exitCode: 1,
    });
  });
});
