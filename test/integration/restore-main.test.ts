/**
 * `restoreMain` on real Redis servers and three Sentinels: redis-main was replaced, came
 * back as a master without the writes since, and the Sentinels cannot agree yet. Until they do,
 * they could promote it again: it must be a copy before that.
 */
import { expect, onTestFinished, test } from 'vitest';
import { signalProcess, startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { roleOf, withRedis } from '../../src/lab/environment/replication.ts';
import { restoreMain } from '../../src/lab/environment/sentinels.ts';
import { redisServer } from '../../src/lab/environment/servers/redis.ts';
import {
  downAfterMs,
  masterName,
  sentinelServer,
  viewOf,
} from '../../src/lab/environment/servers/sentinel.ts';
import type { Server } from '../../src/lab/environment/servers/server.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/folder.ts';
import { ownPorts } from '../support/own-ports.ts';

const patientMs = 60_000;

async function started(server: Server) {
  await server.prepare?.();
  const ref = startProcess(server.program());
  onTestFinished(() => stopProcess(ref));
  return ref;
}

const downAfter = (sentinel: number, ms: number) =>
  withRedis(sentinel, (redis) =>
    redis.call('SENTINEL', 'SET', masterName, 'down-after-milliseconds', String(ms)),
  );

test('redis-main follows the new master at once, before the Sentinels agree', async () => {
  const folder = someFolder();
  const first = await ownPorts(19_400, 6);
  const [redisMain, replica, secondReplica] = [first, first + 1, first + 2];
  const sentinels = [first + 3, first + 4, first + 5] as const;
  const data = [
    redisServer('redis-main', folder, redisMain, 'always', { 'replica-priority': '50' }),
    redisServer('replica', folder, replica, 'always'),
    redisServer('second-replica', folder, secondReplica, 'always', {
      replicaof: `127.0.0.1 ${replica}`,
    }),
  ] as const;
  const [, newMaster] = [await started(data[0]), await started(data[1]), await started(data[2])];
  for (const { port, answers } of data) await waitUntil(`Redis ${port}`, 10_000, answers);
  // The Sentinels do not know redis-main, so that nobody but restoreMain makes it follow.
  for (const port of sentinels)
    await started(sentinelServer(`sentinel-${port}`, folder, port, replica));
  for (const port of sentinels)
    await waitUntil(`Sentinel ${port}`, 20_000, async () => {
      const { otherSentinels, flags } = await viewOf(port);
      return otherSentinels === 2 && flags === 'master';
    });
  await withRedis(replica, (redis) => redis.set('written', 'since'));
  // One of them takes the new master for dead, and the two others are too patient to join it.
  const [hasty, ...patient] = sentinels;
  for (const port of patient) await downAfter(port, patientMs);
  await downAfter(hasty, 100);
  signalProcess(newMaster, 'SIGSTOP');
  await waitUntil('a Sentinel to see a problem', 10_000, async () =>
    (await viewOf(hasty)).flags.includes('s_down'),
  );

  const restoring = restoreMain({ redisMain, replica, secondReplica, sentinels: [...sentinels] });
  restoring.catch(() => {}); // Of a test that has failed before.
  const follows = async () => (await roleOf(redisMain)) === 'slave';
  await waitUntil('redis-main to follow', 5_000, follows);
  expect((await viewOf(hasty)).flags).toContain('s_down');
  for (const port of sentinels) await downAfter(port, downAfterMs);
  signalProcess(newMaster, 'SIGCONT');
  await restoring;
  const roles = await Promise.all([redisMain, replica, secondReplica].map(roleOf));
  expect(roles).toEqual(['master', 'slave', 'slave']);
  expect(await withRedis(redisMain, (redis) => redis.get('written'))).toBe('since');
});
