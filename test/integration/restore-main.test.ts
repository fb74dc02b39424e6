/**
 * `restoreMain` on real Redis servers and three Sentinels: redis-main was replaced, came
 * back as a master without the writes since, and the Sentinels cannot agree yet. Until they do,
 * they could promote it again: it must be a copy before that.
 */
import { expect, test } from 'vitest';
import { OwnRedis, OwnServer } from '../../src/lab/environment/own-redis.ts';
import { roleOf, withRedis } from '../../src/lab/environment/replication.ts';
import {
  downAfterMs,
  masterName,
  restoreMain,
  sentinelServer,
  viewOf,
} from '../../src/lab/environment/sentinels.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from '../support/basics.ts';
import { ownPorts, startOwn } from '../support/servers.ts';

const patientMs = 60_000;

const downAfter = (sentinel: number, ms: number) =>
  withRedis(sentinel, (redis) =>
    redis.call('SENTINEL', 'SET', masterName, 'down-after-milliseconds', String(ms)),
  );

test('redis-main follows the new master at once, before the Sentinels agree', async () => {
  const folder = someFolder();
  const first = await ownPorts(19_400, 6);
  const [redisMain, replica, secondReplica] = [first, first + 1, first + 2];
  const sentinels = [first + 3, first + 4, first + 5] as const;
  const redis = (name: string, port: number, settings = {}) =>
    startOwn(new OwnRedis({ folder, name, port, settings }));
  await redis('redis-main', redisMain, { 'replica-priority': '50' });
  const newMaster = await redis('replica', replica);
  await redis('second-replica', secondReplica, { replicaof: `127.0.0.1 ${replica}` });
  // The Sentinels do not know redis-main, so that nobody but restoreMain makes it follow.
  for (const port of sentinels) {
    const server = sentinelServer(`sentinel-${port}`, folder, port, replica);
    await startOwn(new OwnServer({ ...server, answers: async () => true }));
  }
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
  await newMaster.pause();
  await waitUntil('a Sentinel to see a problem', 20_000, async () =>
    (await viewOf(hasty)).flags.includes('s_down'),
  );

  const restoring = restoreMain({ redisMain, replica, secondReplica, sentinels: [...sentinels] });
  restoring.catch(() => {}); // Of a test that has failed before.
  const follows = async () => (await roleOf(redisMain)) === 'slave';
  await waitUntil('redis-main to follow', 20_000, follows);
  expect((await viewOf(hasty)).flags).toContain('s_down');
  for (const port of sentinels) await downAfter(port, downAfterMs);
  await newMaster.resume();
  await restoring;
  const roles = await Promise.all([redisMain, replica, secondReplica].map(roleOf));
  expect(roles).toEqual(['master', 'slave', 'slave']);
  expect(await withRedis(redisMain, (redis) => redis.get('written'))).toBe('since');
});
