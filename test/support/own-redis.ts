/** A Redis of a test's own, on loopback; it ends with the test. */
import { onTestFinished } from 'vitest';
import { OwnRedis, type OwnRedisOptions } from '../../src/lab/environment/own-redis.ts';
import { someFolder } from './folder.ts';
import { ownPorts } from './own-ports.ts';

export async function startOwnRedis(
  settings: OwnRedisOptions['settings'] = {},
  more: Pick<OwnRedisOptions, 'access' | 'answers'> = {},
): Promise<OwnRedis> {
  const place = { folder: someFolder(), port: await ownPorts(19_300) };
  const redis = new OwnRedis({ ...place, settings, ...more });
  onTestFinished(() => redis.end());
  await redis.start();
  return redis;
}
