/**
 * A real Redisson client in a JVM and the locks that follow it, on one Redis: they exclude each
 * other, and hand the lock to each other.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { quietRedis } from '../support/connections.ts';
import { contend, contender, overlap } from '../support/contend.ts';
import { someVoucherId } from '../support/sale.ts';

const has = (program: string) =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)));
const missing = ['java', 'javac', 'mvn'].filter((program) => !has(program));
if (missing.length > 0)
  console.warn(
    `${missing.join(', ')} MISSING: the test against Redisson is skipped. Get them: a JDK 17 and Maven.`,
  );

const source = new URL('../redisson/', import.meta.url).pathname;
const libraries = join(process.cwd(), '.lockstep', 'redisson');
const times = 60;

describe.skipIf(missing.length > 0)('Redisson and the lock that follows it', () => {
  beforeAll(async () => {
    mkdirSync(libraries, { recursive: true });
    if (readdirSync(libraries).some((file) => file.startsWith('redisson-'))) return;
    await execa('mvn', [
      '-q',
      '-B',
      '-f',
      join(source, 'pom.xml'),
      'dependency:copy-dependencies',
      `-DoutputDirectory=${libraries}`,
    ]);
  }, 300_000);

  test.each(['reentrant', 'spin', 'fair'])(
    'want the same %s lock at the same time, never hold it together, and both get their turns',
    async (kind) => {
      const resource = `test:${someVoucherId()}`;
      const args = ['-cp', `${libraries}/*`, join(source, 'Contender.java'), quietRedis()];
      const jvm = { file: 'java', args: [...args, `lock:${resource}`, String(times), kind] };
      const node = contender(`redis-${kind}`, resource, times);
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
