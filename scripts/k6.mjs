// `npm run k6 -- k6/rush.js [k6 options]`: runs a k6 script against the running lab, or against
// BASE_URL. k6 is the one on PATH, else .lockstep/bin/k6, else its container image. Exit code 0:
// every promise was kept. 99: one was not, or a threshold of your own. 2: it could not tell: a
// setting is wrong, the load was not sent or was interrupted, answers are missing, or k6 or the
// lab is. Each run keeps its summary in a folder of its own; `latest` points at the newest.
// Built-ins only, as in setup.mjs.
import { spawn, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { k6Version } from './k6-version.mjs';
import './on-node.mjs';

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
  ...['STOCK', 'RATE', 'SECONDS', 'USERS', 'PASSES', 'PARTS'],
  ...['MOST_MISSED_PERCENT', 'MOST_TIMES_SLOWER', 'P99_MS'],
  ...['TOKEN', 'TOKENS_FILE', 'SUMMARY_FOLDER'],
];
/** Files that a script reads; several have commas between them. */
const fileSettings = ['TOKENS_FILE', 'PARTS'];
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
  const { SUMMARY_FOLDER } = env;
  const read = fileSettings.flatMap((name) => env[name]?.split(',') ?? []).filter(Boolean);
  return [
    ...['docker', 'run', '--rm', '--network', 'host', '--workdir', '/'],
    ...['--user', `${process.getuid()}`, '--volume', `${join(root, 'k6')}:/k6:ro`],
    ...['--volume', `${SUMMARY_FOLDER}:${SUMMARY_FOLDER}`],
    ...read.flatMap((file) => ['--volume', `${file}:${file}:ro`]),
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

/** k6 knows met and missed thresholds only; the summary that this run has written knows more. */
function exitCodeOf(folder, code) {
  if (code !== 0 && code !== brokenCode)
    return verdictIn(folder) === 'violated' ? brokenCode : couldNotTell;
  const codes = { held: code, violated: brokenCode, unknown: couldNotTell };
  return codes[verdictIn(folder)] ?? code; // A script without our summary.
}

function verdictIn(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'summary.json'), 'utf8')).verdict;
  } catch {
    return undefined;
  }
}

/** `runs/k6/rush/2026-11-28T153000.123Z`. */
function newFolder(script) {
  const time = new Date().toISOString().replaceAll(':', '');
  return join(root, 'runs', 'k6', script, time);
}

/** A run that could not begin leaves nothing. */
function keep(folder) {
  if (verdictIn(folder) === undefined) return rmSync(folder, { recursive: true, force: true });
  const link = join(dirname(folder), 'latest');
  symlinkSync(basename(folder), `${link}-${process.pid}`);
  renameSync(`${link}-${process.pid}`, link); // Another run may do so at the same moment.
  console.log(`Kept in ${relative(process.cwd(), folder)}/index.html`);
}

/** After Ctrl-C, k6 still audits the sale and prints its summary; this process waits for that. */
function run([command, ...args], env) {
  const child = spawn(command, args, { stdio: 'inherit', env });
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => stop(`k6 could not be started: ${error.message}`));
  child.on('exit', (code) => {
    const exitCode = exitCodeOf(env.SUMMARY_FOLDER, code);
    if (env.SUMMARY_FOLDER === ownFolder) keep(ownFolder);
    process.exit(exitCode);
  });
}

const scripts = () =>
  readdirSync(join(root, 'k6'))
    .filter((name) => name.endsWith('.js'))
    .join(', ');

const args = process.argv.slice(2);
const script = args.find((each) => each.endsWith('.js'));
if (!script || !existsSync(script))
  stop(
    script ? `There is no script ${script}.` : 'Name a script.',
    'npm run k6 -- k6/rush.js [k6 options]',
    `Scripts in k6/: ${scripts()}`,
    'The first lines of each list its settings; docs/load-testing.md has those of all.',
  );
const env = { K6_NO_USAGE_REPORT: 'true', K6_LOG_FORMAT: 'raw', ...process.env };
for (const name of fileSettings)
  if (env[name])
    env[name] = env[name]
      .split(',')
      .map((file) => resolve(file))
      .join(',');
const ownFolder = newFolder(basename(script, '.js'));
env.SUMMARY_FOLDER = resolve(env.SUMMARY_FOLDER || ownFolder);
mkdirSync(env.SUMMARY_FOLDER, { recursive: true });
rmSync(join(env.SUMMARY_FOLDER, 'summary.json'), { force: true });
const k6 = findK6(env);
env.BASE_URL ||= await labUrl();
if (!env.BASE_URL) stop('The lab is not running: start it with `npm run up`, or set BASE_URL.');
run([...k6, 'run', ...args], env);
