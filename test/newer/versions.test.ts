/** The tests on newer servers run on newer servers. */
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { programPath } from '../../src/lab/environment/processes.ts';
import { readyConnections } from '../support/connections.ts';

test('Redis is 8.0 or later', async () => {
  const redis = (await readyConnections()).redis('admin');
  const [, version] = /redis_version:(\d+)/.exec(await redis.info('server')) ?? [];
  expect(Number(version)).toBeGreaterThanOrEqual(8);
});

test('nginx is 1.30 or later', async () => {
  const { stderr } = await execa(programPath('nginx'), ['-v']);
  const [, minor] = /nginx\/1\.(\d+)/.exec(stderr) ?? [];
  expect(Number(minor)).toBeGreaterThanOrEqual(30);
});
