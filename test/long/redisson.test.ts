/**
 * A real Redisson client in a JVM and the locks that follow it, on one Redis: they exclude each
 * other, and hand the lock to each other.
 */
import { describe, expect, test } from 'vitest';
import { redissonClassPath } from '../redisson/redisson.ts';
import { quietRedis } from '../support/connections.ts';
import { contend, contender, overlap } from '../support/locks.ts';
import { someVoucherId } from '../support/sale.ts';

const classPath = await redissonClassPath();
/** They last longer than one of the two may stand still. */
const times = 200;

describe.skipIf(classPath === null)('Redisson and the lock that follows it', () => {
  test.each(['reentrant', 'spin', 'fair'])(
    'want the same %s lock at the same time, never hold it together, and both get their turns',
    async (kind) => {
      const resource = `test:${someVoucherId()}`;
      const args = ['-cp', classPath ?? '', 'Contender', quietRedis()];
      const jvm = { file: 'java', args: [...args, `lock:${resource}`, String(times), kind] };
      const node = contender({ [`redis-${kind}`]: resource }, times);
      const sections = await contend([jvm, node], { REDIS_URL: quietRedis() });
      expect(sections).toHaveLength(2 * times);
      expect(overlap(sections)).toBe(false);
      const handovers = sections.filter(
        ({ process }, index) => (process === 0) !== (sections[index - 1]?.process === 0),
      );
      expect(handovers.length).toBeGreaterThan(2);
    },
    120_000,
  );
});
