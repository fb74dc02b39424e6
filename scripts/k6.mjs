// `npm run k6 -- k6/rush.js [k6 options]`: runs a k6 script against the running lab, or against
// BASE_URL. k6 is the one on PATH, else .lockstep/bin/k6, else its container image. The exit code
// is that of k6: 0 when every threshold is met, 99 when one is not. It is 2 when k6 or the lab is
// missing.
// Built-ins only, as in setup.mjs.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { k6Version } from './k6-version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const labFolder = process.env.LOCKSTEP_LAB ?? join(root, '.lockstep', 'main');
/** The settings of the scripts. A container gets these, and k6's own (K6_…). */
const settings = [
  ...['BASE_URL', 'TOKEN_SECRET', 'RUNG', 'WORK_MS', 'ANSWER_SECONDS', 'AVAILABILITY'],
  ...['STOCK', 'RATE', 'SECONDS', 'USERS'],
];

function stop(...lines) {
  for (const line of lines) console.error(line);
  process.exit(2);
}

function canRun(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The command that runs k6, and its first arguments. */
function findK6(env) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const candidates = [...folders, join(root, '.lockstep', 'bin')].map((path) => join(path, 'k6'));
  const program = candidates.find(canRun);
  if (program) return [program];
  const docker = spawnSync('docker', ['version'], { stdio: 'ignore' });
  if (docker.status === 0) return inContainer(env);
  return stop(
    'k6 is missing on PATH and in .lockstep/bin, and no docker engine answers.',
    `Get ${k6Version}: https://grafana.com/docs/k6, or Go 1.26 and npm run setup -- --with-k6`,
  );
}

/** With the network of the host, because the lab listens on loopback only. */
function inContainer(env) {
  const passed = Object.keys(env).filter((name) => settings.includes(name) || /^K6_/.test(name));
  return [
    ...['docker', 'run', '--rm', '--network', 'host', '--workdir', '/'],
    ...['--volume', `${join(root, 'k6')}:/k6:ro`],
    ...passed.flatMap((name) => ['--env', name]),
    `grafana/k6:${k6Version.slice(1)}`,
  ];
}

/** The URL of the running lab's nginx; null when the lab is not running. */
async function labUrl() {
  try {
    const { id, ports } = JSON.parse(readFileSync(join(labFolder, 'lab.json'), 'utf8'));
    const url = `http://127.0.0.1:${ports.nginx}`;
    const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(2_000) });
    return answer.headers.get('x-lab-id') === id ? url : null; // Not another lab.
  } catch {
    return null;
  }
}

/** After Ctrl-C, k6 still audits the sale and prints its summary; this process waits for that. */
function run([command, ...args], env) {
  const child = spawn(command, args, { stdio: 'inherit', env });
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => stop(`k6 could not be started: ${error.message}`));
  child.on('exit', (code) => process.exit(code ?? 2));
}

const args = process.argv.slice(2);
if (args.length === 0)
  stop(
    'Name a script: npm run k6 -- k6/rush.js [k6 options]',
    'Scripts: rush, same-user, soak, failover. The first lines of each list its settings.',
  );
const env = { K6_NO_USAGE_REPORT: 'true', ...process.env };
const k6 = findK6(env);
env.BASE_URL ||= await labUrl();
if (!env.BASE_URL) stop('The lab is not running: start it with `npm run up`, or set BASE_URL.');
run([...k6, 'run', ...args], env);
