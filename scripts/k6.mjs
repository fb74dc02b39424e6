// `npm run k6 -- k6/rush.js [k6 options]`: runs a k6 script against the running lab, or against
// BASE_URL. k6 is the one on PATH, else .lockstep/bin/k6, else its container image. Exit code 0:
// every promise was kept. 99: one was not, or a threshold of your own. 2: it could not tell: the
// load was not sent, answers are missing, or k6 or the lab is.
// Built-ins only, as in setup.mjs.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { k6Version } from './k6-version.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const labFolder = process.env.LOCKSTEP_LAB ?? join(root, '.lockstep', 'main');
/** The settings of the scripts. A container gets these, and k6's own (K6_…). */
const settings = [
  ...[
    'BASE_URL',
    'TOKEN_SECRET',
    'RUNG',
    'VOUCHER_ID',
    'WORK_MS',
    'ANSWER_SECONDS',
    'AVAILABILITY',
  ],
  ...['STOCK', 'RATE', 'SECONDS', 'USERS', 'PASSES', 'MOST_MISSED_PERCENT', 'P99_MS'],
  ...['TOKEN', 'TOKENS_FILE', 'SUMMARY_FOLDER'],
];
const brokenCode = 99; // k6's own, when a threshold is not met.
const couldNotTell = 2;

function stop(...lines) {
  for (const line of lines) console.error(line);
  process.exit(couldNotTell);
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
  const { SUMMARY_FOLDER, TOKENS_FILE } = env;
  return [
    ...['docker', 'run', '--rm', '--network', 'host', '--workdir', '/'],
    ...['--user', `${process.getuid()}`, '--volume', `${join(root, 'k6')}:/k6:ro`],
    ...['--volume', `${SUMMARY_FOLDER}:${SUMMARY_FOLDER}`],
    ...(TOKENS_FILE ? ['--volume', `${TOKENS_FILE}:${TOKENS_FILE}:ro`] : []),
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

/** Of the summary that this run has written: k6 knows met and missed thresholds only. */
function exitCodeOf(folder, code) {
  if (code !== 0 && code !== brokenCode) return code ?? couldNotTell;
  try {
    const { verdict } = JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8'));
    if (code === brokenCode && verdict !== 'unknown') return brokenCode;
    return verdict === 'held' ? 0 : couldNotTell;
  } catch {
    return code; // A script without our summary.
  }
}

/** After Ctrl-C, k6 still audits the sale and prints its summary; this process waits for that. */
function run([command, ...args], env) {
  const child = spawn(command, args, { stdio: 'inherit', env });
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => stop(`k6 could not be started: ${error.message}`));
  child.on('exit', (code) => process.exit(exitCodeOf(env.SUMMARY_FOLDER, code)));
}

const args = process.argv.slice(2);
if (args.length === 0)
  stop(
    'Name a script: npm run k6 -- k6/rush.js [k6 options]',
    'Scripts: rush, same-user, ramp, spike, mixed, soak, failover. The first lines of each list',
    'its settings; k6/README.md has those of all.',
  );
const env = { K6_NO_USAGE_REPORT: 'true', ...process.env };
const script = basename(args.find((each) => each.endsWith('.js')) ?? 'script', '.js');
env.SUMMARY_FOLDER = resolve(env.SUMMARY_FOLDER || join(root, 'runs', 'k6', script));
mkdirSync(env.SUMMARY_FOLDER, { recursive: true });
rmSync(join(env.SUMMARY_FOLDER, 'summary.json'), { force: true });
const k6 = findK6(env);
env.BASE_URL ||= await labUrl();
if (!env.BASE_URL) stop('The lab is not running: start it with `npm run up`, or set BASE_URL.');
run([...k6, 'run', ...args], env);
