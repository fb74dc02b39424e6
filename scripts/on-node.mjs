// Imported by each script. Where Node is older than the project supports, the script runs again on
// Node 26, which it installs in .lockstep/ from the npm registry. Node's compile cache is on: the
// script and each process that it starts load faster the second time. Built-ins only.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const version = '26.10.0';
const oldest = [22, 19];

const folder = fileURLToPath(new URL('../.lockstep/node/', import.meta.url));
const packageName = `node-${process.platform}-${process.arch}`;
const program = join(folder, 'node_modules', packageName, 'bin/node');

const [major, minor] = process.versions.node.split('.').map(Number);
const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1]);

/** Undefined where the system's Node is new enough. */
export const ownNode = process.execPath === program ? program : undefined;

function install() {
  const { node } = process.versions;
  console.error(`set-up: Node ${node} is too old, installing Node ${version} in .lockstep/ …`);
  mkdirSync(folder, { recursive: true });
  const options = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder];
  const npm = spawnSync('npm', ['install', ...options, `${packageName}@${version}`], {
    stdio: ['ignore', 2, 2],
  });
  if (npm.status === 0 && existsSync(program)) return;
  console.error(`\nset-up stopped: Node ${version} could not be installed from npm`);
  console.error(`  - check the network, or install Node ${oldest.join('.')} or later yourself`);
  process.exit(2);
}

async function runAgain() {
  const env = { ...process.env, PATH: [dirname(program), process.env.PATH].join(delimiter) };
  const args = [...process.execArgv, ...process.argv.slice(1)];
  const child = spawn(program, args, { stdio: 'inherit', env });
  process.on('SIGINT', () => {}); // A terminal sends it to the child too.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const [status] = await once(child, 'exit');
  process.exit(status ?? 130);
}

if (isOld) {
  if (!existsSync(program)) install();
  await runAgain();
}

export const compileCache = fileURLToPath(new URL('../.lockstep/compile-cache/', import.meta.url));
process.env.NODE_COMPILE_CACHE ??= compileCache; // Inherited by what the script starts.
module.enableCompileCache?.(process.env.NODE_COMPILE_CACHE); // Node 20 has none.
