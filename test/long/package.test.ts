/** The package, in an empty folder: the examples run there, and a strict program compiles. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { someFolder } from '../support/basics.ts';
import { startOwnRedis } from '../support/servers.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const tsc = join(root, 'node_modules/.bin/tsc');

const consumer = `
import { Redis } from 'ioredis';
import { type Lease, multiLock, redisFairLock, redisReentrantLock, using } from 'lockstep/locks';
import { type Handle, type Outcome, type Sale, salePipeline } from 'lockstep/pipeline';
const redis = new Redis();
const fair = redisFairLock(redis, { turnMs: 5_000 });
const lease: Lease | null = await fair.acquire('a', { waitMs: 0 });
const all = multiLock([{ redis, lock: redisReentrantLock(redis) }]);
export const one: number | null = await using(all, 'a', { waitMs: 1 }, async () => 1);
export const end: Promise<void> | undefined = lease?.release();
// @ts-expect-error How long to wait is never left out.
await all.acquire('a', {});
const pipeline = salePipeline(redis, { keyPrefix: 'a:', batchSize: 10 });
const sale: Sale = { id: '1', stock: 1, beginTime: new Date(), endTime: new Date() };
const order = { id: '1', voucherId: '1', userId: '1', requestId: 'a' };
export const sold: Outcome = await pipeline.sell(order, sale);
const keep: Handle = async (deliveries) => new Set(deliveries.map(({ order: { id } }) => id));
await pipeline.consume(keep, AbortSignal.timeout(1));
`;

/** With the packages that it needs, and without those of the lab. */
async function installed(): Promise<string> {
  const folder = someFolder();
  await execa(tsc, ['-p', 'src/service/exports'], { cwd: root });
  const { stdout } = await execa(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
    { cwd: root },
  );
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
  const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await execa('npm', ['install', join(folder, filename), ...options], { cwd: folder });
  cpSync(join(root, 'examples'), folder, { recursive: true });
  return folder;
}

test('the examples run with the package, and a strict program compiles with their types', async () => {
  const [cwd, one, two, three] = await Promise.all([
    installed(),
    startOwnRedis(),
    startOwnRedis(),
    startOwnRedis(),
  ]);
  const example = async (name: string, env: Readonly<Record<string, string>>) =>
    (await execa(process.execPath, [name], { cwd, env })).stdout;
  expect(await example('lock.mjs', { REDIS_URL: one.url })).toBe('sold');
  expect(await example('pipeline.mjs', { REDIS_URL: one.url })).toBe('accepted\nuser 7');
  const masters = { REDIS_URLS: [one, two, three].map(({ url }) => url).join(',') };
  expect(await example('redlock.mjs', masters)).toBe('granted for 5 s');
  await two.kill();
  expect(await example('redlock.mjs', masters)).toBe('granted for 5 s');
  await three.kill();
  const noMajority = await execa(process.execPath, ['redlock.mjs'], {
    ...{ cwd, env: masters, reject: false },
  });
  expect(noMajority).toMatchObject({ exitCode: 1, stdout: '' });
  expect(noMajority.stderr).toContain('The lock on voucher:9 is not available');
  expect(noMajority.stderr).not.toMatch(/^ +at /m);
  expect(await example('redlock.mjs', { REDIS_URL: one.url })).toBe('granted for 5 s');

  const command = await execa('npx', ['lockstep', '--help'], { cwd, reject: false });
  expect(command).toMatchObject({ exitCode: 2, stdout: '' });
  expect(command.stderr).toContain('in a checkout of Lockstep');

  writeFileSync(join(cwd, 'consumer.ts'), consumer);
  const settings = [
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--lib',
    'es2023,esnext.disposable',
  ];
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  await execa(tsc, ['--noEmit', '--strict', ...settings, ...types, 'consumer.ts'], { cwd });
}, 360_000);
