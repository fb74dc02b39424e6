/**
 * The service from `npm ci --omit=dev` in an empty folder: it needs no package of the lab, with
 * LAB=0 and with LAB=1.
 */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deploymentSecret, openSale } from '../support/client.ts';
import { quietRedis } from '../support/connections.ts';
import { ownStores, startedProcess } from '../support/own-stores.ts';
import { onSale } from '../support/sale.ts';
import { deploy } from '../support/service-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { dependencies } = readJson('package.json') as { dependencies: Record<string, string> };
/** By path: `node_modules/hono`. A package is `dev` when no dependency needs it. */
const { packages } = readJson('package-lock.json') as { packages: Record<string, { dev?: true }> };

/** The packages that these compiled files import, and the files that they import, and so on. */
function packagesOf(entries: readonly string[]): Set<string> {
  const packages = new Set<string>();
  const files = new Set(entries);
  for (const file of files)
    for (const name of importsOf(file))
      if (name.startsWith('.')) files.add(join(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(packageOf(name));
  return packages;
}

const importsOf = (file: string): string[] =>
  [
    ...readFileSync(file, 'utf8').matchAll(/(?:\bfrom |^import |\b(?:import|load)\()'([^']+)'/gm),
  ].map(([, name = '']) => name);

/** `hono` of `hono/jwt`, `@hono/node-server` of itself. */
const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

test('the service imports the packages that are its dependencies, and no others', () => {
  const entries = [
    ...['service', 'api', 'order-worker'],
    ...['reconcile', 'dead-letters', 'ended-sales', 'audit'],
  ].map((name) => join(root, `dist/service/bin/${name}.js`));
  expect([...packagesOf(entries)].sort()).toEqual(Object.keys(dependencies).sort());
});

describe('a production install', () => {
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lockstep-install-'));
    for (const name of ['package.json', 'package-lock.json', 'dist', 'lua'])
      cpSync(join(root, name), join(folder, name), { recursive: true });
    const options = ['--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
    await execa('npm', ['ci', '--prefer-offline', ...options], { cwd: folder });
  }, 360_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has the dependencies, and no package for development alone', () => {
    const isInstalled = (path: string) => existsSync(join(folder, path));
    const missing = Object.keys(dependencies).filter(
      (name) => !isInstalled(`node_modules/${name}`),
    );
    expect(missing).toEqual([]);
    const development = Object.keys(packages).filter((path) => packages[path]?.dev);
    expect(development).toContain('node_modules/undici');
    expect(development.filter(isInstalled)).toEqual([]);
  });

  test.each([
    'dead-letters list',
    'dead-letters replay --all --reason malformed',
    'reconcile',
    'reconcile --repair',
    'ended-sales',
    'ended-sales --days 0 --json',
  ])('has the operator command %s', async (command) => {
    const [name, ...args] = command.split(' ');
    const stores = await ownStores(); // Without the sales of other files.
    await startedProcess(stores);
    const env = { ...stores, TOKEN_SECRET: deploymentSecret };
    const program = join(folder, `dist/service/bin/${name}.js`);
    const { exitCode, stderr } = await execa('node', [program, ...args], { env, reject: false });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const wrong = await execa('node', [program, 'no-such-thing'], { env, reject: false });
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('Usage: node dist'),
    ]);
  });

  test('has the operator command audit, for a voucher and for none', async () => {
    const stores = await ownStores();
    const connections = await startedProcess(stores);
    const { id } = await onSale(connections, 3);
    const env = { ...stores, TOKEN_SECRET: deploymentSecret };
    const program = join(folder, 'dist/service/bin/audit.js');
    const ask = (...args: string[]) => execa('node', [program, ...args], { env, reject: false });
    const audited = await ask(id);
    expect([audited.exitCode, audited.stderr]).toEqual([0, '']);
    expect(audited.stdout).toContain('held: 0 orders of 3, 3 left; users with two orders: 0');
    expect(audited.stdout).toContain('not run   no-lost-orders');
    const none = await ask('999999999');
    expect([none.exitCode, none.stdout]).toEqual([2, 'There is no voucher 999999999.']);
    expect((await ask('one')).exitCode).toBe(2);
  });

  describe.each(['0', '1'])('with LAB=%s', (LAB) => {
    const routes = `${LAB === '1' ? 'with' : 'without'} the routes and options of the lab`;
    test(`sells a voucher, ${routes}, records the order, and stops in order`, async () => {
      const HISTORY_FOLDER = LAB === '1' ? join(folder, 'history') : '';
      const settings = { REDIS_URL: quietRedis(), LAB, HISTORY_FOLDER };
      const service = await deploy(settings, join(folder, 'dist/service/bin/service.js'));
      const { onSale, buy, confirmed, post, operate, stop } = service;
      const noop = await post('/lab/noop', 7);
      const withOptions = await operate('POST', '/vouchers', openSale({ lab: { workMs: 5 } }));
      expect([noop.status, withOptions.status]).toEqual(LAB === '1' ? [202, 201] : [404, 400]);
      const sold = await buy(await onSale(), 7);
      expect(sold.httpStatus).toBe(202);
      await confirmed(sold.location, 7);
      expect(await stop()).toBe(0);
    });
  });
});
