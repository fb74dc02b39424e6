/**
 * Mixed contention: processes with our locks, and JVMs with a real Redisson, want the same keys
 * while faults hit them all. LOCK_STORM_SEED replays a storm, LOCK_STORM_MINUTES makes it longer.
 */
import { describe, expect, test } from 'vitest';
import { judgedStorm } from '../../../src/lab/drills/lock-storm.ts';
import {
  type Kind,
  ourContenders,
  type StormKey,
  stormKeys,
} from '../../../src/lab/lock-storm/kinds.ts';
import { lockStorm } from '../../../src/lab/lock-storm/storm.ts';
import type { Result } from '../../../src/lab/stage/result.ts';
import { jvms, redissonClassPath, stormKeysBesideRedisson } from '../../redisson/redisson.ts';
import { playIn } from '../../support/judged-drill.ts';
import { theLab } from '../../support/own-lab.ts';

const seed = Number(process.env['LOCK_STORM_SEED'] ?? 1);
const stormMs = Number(process.env['LOCK_STORM_MINUTES'] ?? 0.1) * 60_000;
const classPath = await redissonClassPath();
const withinMs = stormMs + 150_000;
const lab = theLab(null);

async function stormOf(keys: readonly StormKey[], kinds: readonly Kind[]): Promise<Result> {
  const storm = {
    about: { en: 'a lock storm', zh: '' },
    play: async (stage: Parameters<typeof lockStorm>[0]) =>
      judgedStorm(await lockStorm(stage, { seed, stormMs, keys, kinds })),
  };
  const result = await playIn(lab(), storm, {}, withinMs);
  const names = kinds.map(({ kind, count }) => `${count} × ${kind}`).join(', ');
  console.log(`lock storm, ${names}, seed ${seed}: ${JSON.stringify(result.figures)}`);
  expect(result, `replay it with LOCK_STORM_SEED=${seed}`).toMatchObject({
    ...{ verdict: 'held', reasons: [] },
  });
  expect(Object.keys(result.faults)).toHaveLength(7);
  return result;
}

const grantedTo = (name: string, { tables = [] }: Result): number =>
  tables
    .flatMap(({ rows }) => rows)
    .filter(([each]) => String(each).startsWith(name))
    .reduce((sum, [, text]) => sum + Number.parseInt(String(text), 10), 0);

test(
  'our locks exclude each other through every fault, go on, and leave nothing behind',
  () => stormOf(stormKeys, [ourContenders(3, stormKeys)]),
  withinMs,
);

describe.skipIf(classPath === null)('beside a real Redisson', () => {
  test(
    'both exclude each other through every fault, go on, and leave nothing behind',
    async () => {
      const keys = stormKeysBesideRedisson;
      const kinds = [ourContenders(2, keys), jvms(1, keys, classPath ?? '')];
      const storm = await stormOf(keys, kinds);
      for (const key of ['redis-reentrant-crowd', 'redis-fair-crowd'])
        for (const kind of ['node', 'jvm'])
          expect(grantedTo(`${kind} ${key}`, storm)).toBeGreaterThan(0);
    },
    withinMs,
  );
});
