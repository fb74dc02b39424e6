/** An instance that cannot end by itself ends all the same. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/folder.ts';
import { ownLab } from '../support/own-lab.ts';
import { ownPorts } from '../support/own-ports.ts';

const entry = new URL('../../dist/bin/api.js', import.meta.url).pathname;
/** Its server never closes. */
const neverCloses = `data:text/javascript,${encodeURIComponent(
  "import { Server } from 'node:http'; Server.prototype.close = () => {};",
)}`;

test('an instance that cannot end by itself after SIGTERM ends, and says what is open', async () => {
  const port = await ownPorts(19_960);
  const logFile = join(someFolder(), 'api.log');
  const api = execa(process.execPath, ['--import', neverCloses, entry], {
    env: { ...ownLab.environment, PORT: `${port}`, INSTANCE: 'overdue-1', DRAIN_MS: '100' },
    ...{ stdout: { file: logFile }, reject: false, timeout: 50_000, killSignal: 'SIGKILL' },
  });
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  await waitUntil('the instance', 20_000, isReady);
  api.kill('SIGTERM');
  const { exitCode } = await api;
  const lines = readFileSync(logFile, 'utf8').trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { event: string; open?: string[] });
  expect(exitCode).toBe(1);
  expect(events.at(-1)).toMatchObject({ event: 'stop-overdue' });
  expect(events.at(-1)?.open?.length).toBeGreaterThan(0);
});
