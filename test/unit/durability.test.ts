/** What Redis and MySQL must be configured for. */
import { expect, test } from 'vitest';
import type { Durability } from '../../src/service/config.ts';
import { weakCommits, weakSettings } from '../../src/service/connections/durability.ts';

const strong = {
  appendonly: 'yes',
  'maxmemory-policy': 'noeviction',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'min-replicas-to-write': '1',
};
const weakIn = (promised: Durability, settings = {}, replicas = 1) =>
  weakSettings(
    { ORDER_DURABILITY: promised, ORDER_REPLICAS: replicas },
    { ...strong, ...settings },
  );

test.each<[Durability, object]>([
  ['everysec', {}],
  ['always', {}],
  ['replica', {}],
  ['everysec', { appendfsync: 'everysec' }],
  ['everysec', { 'no-appendfsync-on-rewrite': 'yes' }],
  ['always', { 'min-replicas-to-write': '0' }],
])('%s is kept with %j', (durability, settings) => {
  expect(weakIn(durability, settings)).toEqual([]);
});

test.each<[Durability, string, string]>([
  ['everysec', 'appendonly', 'no'],
  ['everysec', 'appendfsync', 'no'],
  ['everysec', 'maxmemory-policy', 'allkeys-lru'],
  ['always', 'appendonly', 'no'],
  ['always', 'appendfsync', 'everysec'],
  ['always', 'no-appendfsync-on-rewrite', 'yes'],
  ['replica', 'appendfsync', 'everysec'],
  ['replica', 'min-replicas-to-write', '0'],
])('%s is not kept with %s %s', (durability, name, value) => {
  const said = expect.stringContaining(`${name} is ${value}, and must be `);
  expect(weakIn(durability, { [name]: value })).toEqual([said]);
});

test('a master must have as many replicas as an order waits for', () => {
  const weak = ['min-replicas-to-write is 1, and must be 2 or more'];
  expect(weakIn('replica', {}, 2)).toEqual(weak);
  expect(weakIn('always', {}, 2)).toEqual([]);
});

test.each([
  [{ flushes: 1, hasBinlog: 0, binlogSyncs: 0 }, 0],
  [{ flushes: '1', hasBinlog: '1', binlogSyncs: '1' }, 0],
  [{ flushes: 3, hasBinlog: 0, binlogSyncs: 0 }, 0],
  [{ flushes: 2, hasBinlog: 0, binlogSyncs: 0 }, 1],
  [{ flushes: 0, hasBinlog: 1, binlogSyncs: 1 }, 1],
  [{ flushes: 1, hasBinlog: 1, binlogSyncs: 0 }, 1],
  [{ flushes: 2, hasBinlog: 1, binlogSyncs: 100 }, 2],
])('MySQL with %j may lose commits in %d ways', (settings, ways) => {
  expect(weakCommits(settings)).toHaveLength(ways);
});
