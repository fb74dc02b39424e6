// `npm run schemathesis`: Schemathesis (https://schemathesis.io) reads /openapi.json of the lab and
// sends what the description allows, and what it does not, as a user and as an operator. No answer
// may be a server error, or one that the description does not have. Its options may follow `--`.
// Left out are /readyz, which nginx does not serve, the routes that do harm on purpose (/lab/), and
// the stream of events: Schemathesis takes the schema of its whole text for that of an event.
// Exit code 0: there was none. 1: there was one. 2: it could not tell.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { labTokenSecret } from '../dist/service/config.js';
import { shop } from './shop.mjs';
import './on-node.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const schemathesis = join(root, '.lockstep', 'schemathesis', 'bin', 'schemathesis');
const labFolder = join(root, '.lockstep', 'schemathesis-lab');
const env = { ...process.env, LOCKSTEP_LAB: labFolder };
const couldNotTell = 2;

function lockstep(stdio, ...args) {
  const command = ['dist/cli/lockstep.js', ...args];
  return spawnSync(process.execPath, command, { cwd: root, env, stdio, encoding: 'utf8' });
}

/** It makes its data from this seed, and keeps none. */
const seed = ['--seed', '1', '--generation-database', 'none'];
const leftOut = ['--exclude-path-regex', '^/(readyz|lab/)|/events$'];
/** So that the id of the description's examples is that of a voucher. */
const vouchers = 12;
const checks = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  ...['response_headers_conformance', 'response_schema_conformance', 'negative_data_rejection'],
  ...['unsupported_method', 'allow_header_conformance', 'ignored_auth'],
].join(',');

function tryAs(role, url) {
  console.log(`\n=== ${role === '--operator' ? 'an operator' : 'a user'}\n`);
  const token = lockstep('pipe', 'token', '7', ...(role ? [role] : [])).stdout.trim();
  if (token === '') throw new Error('there is no token');
  const header = ['--header', `Authorization: Bearer ${token}`];
  const args = ['run', `${url}/openapi.json`, '--checks', checks, ...header, ...seed, ...leftOut];
  const own = process.argv.slice(2);
  return spawnSync(schemathesis, [...args, ...own], { cwd: labFolder, stdio: 'inherit' }).status;
}

async function main() {
  if (!existsSync(schemathesis)) {
    console.error('Schemathesis is missing: npm run setup -- --with-schemathesis');
    return couldNotTell;
  }
  if (lockstep('inherit', 'up').status !== 0) return couldNotTell;
  try {
    const { ports } = JSON.parse(readFileSync(join(labFolder, 'lab.json'), 'utf8'));
    const url = `http://127.0.0.1:${ports.nginx}`;
    for (let count = 0; count < vouchers; count++) await shop(url, labTokenSecret).createVoucher(5);
    const codes = ['', '--operator'].map((role) => tryAs(role, url));
    if (codes.every((code) => code === 0)) return 0;
    return codes.includes(1) ? 1 : couldNotTell;
  } finally {
    lockstep('inherit', 'down');
  }
}

process.exitCode = await main();
