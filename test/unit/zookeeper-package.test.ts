/** What a process loads of ZooKeeper when no rung of it is opened. */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { rungNames } from '../../src/ladder/rungs.ts';

test('the package of ZooKeeper is loaded with the first session, and not with the ladder', () => {
  expect(rungNames).toContain('zookeeper');
  const { cache } = createRequire(import.meta.url);
  expect(Object.keys(cache).filter((path) => path.includes('node-zookeeper-client'))).toEqual([]);
});
