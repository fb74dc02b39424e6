/** The base that a purchase is compared with: its processes run as those of the service. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, expect, test } from 'vitest';
import { withBareService } from '../../src/lab/benchmarks/bare-service.ts';
import { isBatchWork } from '../../src/lab/environment/processes.ts';
import { newDataFolder } from '../support/data-home.ts';

const folder = newDataFolder();
afterAll(() => rmSync(folder, { recursive: true }));

test('a bare process is scheduled as the servers of the lab are', async () => {
  const policy = await withBareService([join(folder, 'api-1.sock')], async ([pid = 0]) => {
    const { stdout } = await execa('chrt', ['--pid', String(pid)]);
    return stdout;
  });
  expect(policy.includes('SCHED_BATCH'), policy).toBe(isBatchWork());
});
