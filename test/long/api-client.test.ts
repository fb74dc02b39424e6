/** Other tools read the description of the API: a linter, and makers of a client, which buys. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { describeApi } from '../../src/service/http/described-api.ts';
import { someFolder } from '../support/basics.ts';
import { deploymentSecret, tokenFor } from '../support/client.ts';
import { ownStores } from '../support/own-stores.ts';
import { serviceEntry, startService } from '../support/service-process.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A folder with the description. */
function described(changes: object = {}): string {
  const folder = someFolder();
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify({ ...describeApi(), ...changes }));
  return folder;
}

/** @returns what Spectral says of it by its rules for OpenAPI, hints too. */
async function linted(cwd: string): Promise<string> {
  writeFileSync(join(cwd, 'rules.yaml'), 'extends: ["spectral:oas"]\n');
  const spectral = ['--yes', '@stoplight/spectral-cli@6.16.3', 'lint', 'openapi.json'];
  const options = ['--ruleset', 'rules.yaml', '--fail-severity', 'hint'];
  const { stdout, exitCode } = await execa('npx', [...spectral, ...options], {
    ...{ cwd, reject: false },
  });
  return `${exitCode}: ${stdout.trim()}`;
}

test('Spectral has nothing to say about the description, and would say it', async () => {
  expect(await linted(described())).toMatch(/^0: No results with a severity of 'hint' or higher/);
  expect(await linted(described({ servers: [], tags: [] }))).toContain('oas3-api-servers');
}, 240_000);

const program = `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';
const [baseUrl = '', operator = '', user = ''] = process.argv.slice(2);
const as = (token: string) =>
  createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
const at = (ms: number) => new Date(Date.now() + ms).toISOString();
const sale = { title: 'client', stock: 1, beginTime: at(-1_000), endTime: at(60_000) };
const { data: voucher } = await as(operator).POST('/vouchers', { body: sale });
if (!voucher) throw new Error('no voucher');
const params = { path: { id: voucher.id }, header: { 'Idempotency-Key': 'once' } };
const bought = await as(user).POST('/vouchers/{id}/orders', { params });
const refused = await as(operator).POST('/vouchers/{id}/orders', { params });
console.log(bought.data?.status, refused.error?.code);
// @ts-expect-error The stock is a number.
await as(operator).POST('/vouchers', { body: { ...sale, stock: 'one' } });
`;

test('a client that openapi-typescript makes compiles strictly, and buys', async () => {
  const cwd = described();
  writeFileSync(join(cwd, 'package.json'), '{ "type": "module", "private": true }');
  writeFileSync(join(cwd, 'client.ts'), program);
  const packages = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund'];
  await execa('npm', ['install', ...packages, ...quietly], { cwd });
  await execa('npx', ['openapi-typescript', 'openapi.json', '-o', 'api.ts'], { cwd });
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const settings = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom'];
  const files = ['--strict', 'client.ts', '--outDir', '.'];
  await execa(join(root, 'node_modules/.bin/tsc'), [...settings, ...types, ...files], { cwd });

  const { baseUrl } = await startService(serviceEntry, await ownStores());
  const [operator, user] = [
    await tokenFor('1', 'operator', deploymentSecret),
    await tokenFor('7', 'user', deploymentSecret),
  ];
  const args = ['client.js', baseUrl, operator, user];
  const { stdout } = await execa(process.execPath, args, { cwd });
  expect(stdout).toBe('queued forbidden');
}, 360_000);
