/**
 * Mixed contention: processes with our locks, and JVMs with a real Redisson, want the same keys
 * while faults hit them all. LOCK_STORM_SEED replays a storm, LOCK_STORM_MINUTES makes it longer.
 */
import { describe, expect, test } from 'vitest';
import { someFolder } from '../support/folder.ts';
import { type Kind, lockStorm, type Storm, type StormKey } from '../support/lock-storm.ts';
import { jvm, node, stormKeys, stormKeysBesideRedisson } from '../support/lock-storm-kinds.ts';
import { redissonClassPath } from '../support/redisson.ts';

const seed = Number(process.env['LOCK_STORM_SEED'] ?? 1);
const stormMs = Number(process.env['LOCK_STORM_MINUTES'] ?? 0.1) * 60_000;
const classPath = await redissonClassPath();
const withinMs = stormMs + 150_000;

async function stormOf(keys: readonly StormKey[], kinds: readonly Kind[]): Promise<Storm> {
  const storm = await lockStorm({ seed, stormMs, keys, kinds, folder: someFolder() });
  const { violations, grants, ...counts } = storm;
  const names = kinds.map(({ kind, count }) => `${count} × ${kind}`).join(', ');
  console.log(`lock storm, ${names}, seed ${seed}: ${JSON.stringify(counts)}`);
  for (const [who, share] of Object.entries(grants))
    if (who.includes('tryLock')) console.log(`  ${who}: granted ${share}`);
  expect(violations, `replay it with LOCK_STORM_SEED=${seed}`).toEqual([]);
  return storm;
}

const grantedTo = (name: string, grants: Storm['grants']): number =>
  Object.entries(grants)
    .filter(([each]) => each.startsWith(name))
    .reduce((sum, [, text]) => sum + Number.parseInt(text, 10), 0);

test(
  'our locks exclude each other through every fault, go on, and leave nothing behind',
  async () => {
    const { sections, faults } = await stormOf(stormKeys, [node(3, stormKeys)]);
    expect(sections).toBeGreaterThan(200);
    expect(Object.keys(faults)).toHaveLength(7);
  },
  withinMs,
);

describe.skipIf(classPath === null)('beside a real Redisson', () => {
  test(
    'both exclude each other through every fault, go on, and leave nothing behind',
    async () => {
      const keys = stormKeysBesideRedisson;
      const kinds = [node(2, keys), jvm(1, keys, classPath ?? '')];
      const { sections, grants, faults } = await stormOf(keys, kinds);
      expect(sections).toBeGreaterThan(200);
      for (const key of ['redis-reentrant-crowd', 'redis-fair-crowd'])
        for (const kind of ['node', 'jvm'])
          expect(grantedTo(`${kind} ${key}`, grants)).toBeGreaterThan(10);
      expect(Object.keys(faults)).toHaveLength(7);
    },
    withinMs,
  );
});
