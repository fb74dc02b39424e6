/** A real Redisson client in a JVM and the reentrant lock, on one Redis: they exclude each other, and wake each other. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { quietRedis } from '../support/connections.ts';
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
const times = '60';

type Section = readonly [start: bigint, end: bigint];
const sections = (output: string): Section[] =>
  output.split('\n').flatMap((line) => {
    const match = /^(\d+) (\d+)$/.exec(line);
    return match ? [[BigInt(match[1] ?? 0), BigInt(match[2] ?? 0)] as const] : [];
  });

describe.skipIf(missing.length > 0)('Redisson and the reentrant lock', () => {
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

  test('never hold the same lock at the same time, and both get through', async () => {
    const resource = `test:${someVoucherId()}`;
    const jvm = execa('java', [
      '-cp',
      `${libraries}/*`,
      join(source, 'Contender.java'),
      quietRedis(),
      `lock:${resource}`,
      times,
    ]);
    const contender = new URL('../support/lock-contender.mjs', import.meta.url).pathname;
    const env = { ...inject('environment'), REDIS_URL: quietRedis() };
    const node = () => execa('node', [contender, 'redis-reentrant', resource, times], { env });
    const outputs = await Promise.all([jvm, node(), node()]);
    const all = outputs.map(({ stdout }) => sections(stdout));
    expect(all.map((own) => own.length)).toEqual([Number(times), Number(times), Number(times)]);
    const inOrder = all.flat().sort(([a], [b]) => (a < b ? -1 : 1));
    const overlaps = inOrder.filter(([start], index) => start < (inOrder[index - 1]?.[1] ?? 0n));
    expect(overlaps).toEqual([]);
  }, 120_000);

  test('really contended: the sections of the JVM lie between those of the others', async () => {
    const resource = `test:${someVoucherId()}`;
    const contender = new URL('../support/lock-contender.mjs', import.meta.url).pathname;
    const env = { ...inject('environment'), REDIS_URL: quietRedis() };
    const node = execa('node', [contender, 'redis-reentrant', resource, '400'], { env });
    const jvm = execa('java', [
      '-cp',
      `${libraries}/*`,
      join(source, 'Contender.java'),
      quietRedis(),
      `lock:${resource}`,
      '5',
    ]);
    const [ours, theirs] = (await Promise.all([node, jvm])).map(({ stdout }) => sections(stdout));
    const [first, last] = [ours?.[0]?.[0] ?? 0n, ours?.at(-1)?.[1] ?? 0n];
    expect(theirs?.filter(([start, end]) => start > first && end < last).length).toBeGreaterThan(0);
  }, 120_000);
});
