/** The lab as people meet it: alone, on free ports, and cleaned up after a crash. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePorts } from '../../src/lab/environment/ports.ts';
import {
  isAlive,
  processRef,
  startProcess,
  stopProcess,
} from '../../src/lab/environment/processes.ts';
import { alone } from '../../src/lab/environment/session.ts';
import { LabBusy } from '../../src/lab/errors.ts';
import { someFolder } from '../support/folder.ts';

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

test('two commands are never in one lab, and a holder that died holds nothing', async () => {
  const lab = someFolder();
  await alone(lab, () => expect(alone(lab, async () => 'both')).rejects.toThrow(LabBusy));
  writeFileSync(
    join(lab, 'in-use.json'),
    JSON.stringify({ pid: process.pid, startedAt: 'another time' }),
  );
  expect(await alone(lab, async () => 'alone')).toBe('alone');
});

test('only the process that was started is ended: its pid with another start time is somebody else’s', async () => {
  const program = { command: 'sleep', args: ['60'], logFile: join(someFolder(), 'sleep.log') };
  const started = startProcess(program);
  await stopProcess({ ...started, startedAt: '1' });
  expect(isAlive(started)).toBe(true);
  await stopProcess(started);
  expect(isAlive(started)).toBe(false);
  expect(processRef(started.pid)).toBeNull();
});
