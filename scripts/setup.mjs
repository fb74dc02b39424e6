// Prepares a fresh Debian machine for Lockstep: packages, servers, build. A second run does only
// the missing steps. It imports nothing but Node's modules, because it runs before `npm ci`.
// Usage: node scripts/setup.mjs [--with-k6] [--with-mysql] [--with-redis] [--with-nginx]
//        [--with-chromium] [--with-prometheus] [--with-schemathesis]
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuilt } from './built.mjs';
import { k6Version } from './k6-version.mjs';
import { compileCache, ownNode } from './on-node.mjs';
import { isUnpacked, unpackServers, unstableServers } from './unstable.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const home = join(root, '.lockstep');

const asked = (option) => process.argv.includes(`--with-${option}`);

/**
 * Program or file → the Debian package that contains it. ZooKeeper needs its library and any Java;
 * the package `zookeeper` would also install Java for a desktop.
 */
const servers = {
  'redis-server': 'redis-server',
  mariadbd: 'mariadb-server',
  'mariadb-install-db': 'mariadb-server',
  nginx: 'nginx-light',
  wrk: 'wrk',
  java: 'default-jre-headless',
  '/usr/share/java/zookeeper.jar': 'libzookeeper-java',
  '/usr/lib/rabbitmq/bin/rabbitmq-server': 'rabbitmq-server',
  // The tests: of the page, with a font that has its Chinese; of the first sale of a deployment, by
  // hand; and of TLS.
  ...(asked('chromium') && {
    '/usr/bin/chromium': 'chromium',
    '/usr/share/fonts/truetype/wqy/wqy-microhei.ttc': 'fonts-wqy-microhei',
    curl: 'curl',
    openssl: 'openssl',
  }),
  // The tests of the alerts.
  ...(asked('prometheus') && { prometheus: 'prometheus', promtool: 'prometheus' }),
  // Schemathesis is a program in Python. Where it cannot be installed, the rest is.
  ...(asked('schemathesis') && canInstall() && { '/usr/share/doc/python3-venv': 'python3-venv' }),
};

function canInstall() {
  return has('apt-get') && process.getuid?.() === 0;
}

const say = (text) => console.log(`set-up: ${text}`);

function stop(problem, ...fixes) {
  console.error(`\nset-up stopped: ${problem}`);
  for (const fix of fixes) console.error(`  - ${fix}`);
  process.exit(2);
}

function has(program) {
  if (isAbsolute(program)) return existsSync(program);
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** Ctrl-C reaches the child too. What it has done stays, so the next run goes on from there. */
function spawn(command, args, options) {
  const child = spawnSync(command, args, { cwd: root, ...options });
  if (child.signal !== 'SIGINT' && child.status !== 130) return child;
  console.error('\nset-up interrupted: the same command goes on from here');
  process.exit(130);
}

function run(command, args, options = {}) {
  return spawn(command, args, { stdio: 'inherit', ...options }).status === 0;
}

const packagesStamp = join(root, 'node_modules', '.lockstep-packages');

function expectedPackages() {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(process.version).digest('hex');
}

/** What npm and npx start as `node`: the one of .lockstep/, where the system's is too old. */
const nodeLink = join(root, 'node_modules/.bin/node');
const isLinked = () => !ownNode || existsSync(nodeLink);

const hasPackages = () =>
  existsSync(packagesStamp) &&
  readFileSync(packagesStamp, 'utf8') === expectedPackages() &&
  isLinked();

function installPackages() {
  // Debian's npm calls what its newer Node warns of.
  const env = { ...process.env, NODE_NO_WARNINGS: '1' };
  if (!run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { env }))
    stop(
      'npm ci failed (its message is above)',
      'check the network and the npm registry, then run `npm run setup` again',
    );
  if (ownNode) symlinkSync(ownNode, nodeLink);
  writeFileSync(packagesStamp, expectedPackages());
}

const missingServers = () => Object.keys(servers).filter((program) => !has(program));
const packagesOf = (programs) => [...new Set(programs.map((program) => servers[program]))];

function installServers() {
  const missing = missingServers();
  const packages = packagesOf(missing);
  const byHand = `install them yourself: apt-get install ${packages.join(' ')}`;
  const container = 'or use the lab in a container: docs/install.md';
  if (!has('apt-get'))
    stop(`missing programs: ${missing.join(', ')}; this is not a Debian system`, byHand, container);
  if (process.getuid?.() !== 0)
    stop(`missing programs: ${missing.join(', ')}; only root can install them`, byHand, container);
  const apt = (...args) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const all = ['-qq', '-o', 'Dpkg::Use-Pty=0', ...args];
    const { status, stdout, stderr } = spawn('apt-get', all, { env, encoding: 'utf8' });
    if (status === 0) return; // Its messages about services that were not started do not matter.
    console.error(stdout, stderr);
    stop(`apt-get ${args[0]} failed (its message is above); no network?`, byHand, container);
  };
  withoutStartingServices(() => {
    apt('update');
    apt('install', '-y', '--no-install-recommends', ...packages);
  });
  const stillMissing = missing.filter((program) => !has(program));
  if (stillMissing.length > 0)
    stop(`still missing after the install: ${stillMissing.join(', ')}`, container);
}

/**
 * Runs `work` with a policy-rc.d that lets no service start: Debian asks it, and 101 means no. A
 * policy that already exists stays as it is.
 */
function withoutStartingServices(work) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = '#!/bin/sh\n# lockstep set-up: install without starting services\nexit 101\n';
  const present = existsSync(policy) && readFileSync(policy, 'utf8') !== ours;
  if (!present) writeFileSync(policy, ours, { mode: 0o755 });
  const remove = () => present || rmSync(policy, { force: true });
  process.once('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
  work();
  remove();
}

const k6Folder = join(home, 'bin');
const hasK6 = () => has('k6') || existsSync(join(k6Folder, 'k6'));

function installK6() {
  if (goVersion() < 1.26)
    return say(
      'k6 is missing, so the k6 tests cannot run. Install Go 1.26 or later and run ' +
        '`npm run setup -- --with-k6` again, or install k6 from https://grafana.com/docs/k6.',
    );
  // A separate Go module, built here. `go install` would contact k6's own site first, and a proxy
  // may block that site.
  mkdirSync(k6Folder, { recursive: true });
  writeFileSync(
    join(k6Folder, 'go.mod'),
    `module k6build\n\ngo 1.26\n\nrequire go.k6.io/k6/v2 ${k6Version}\n`,
  );
  const args = ['build', '-mod=mod', '-buildvcs=false', '-o', 'k6', 'go.k6.io/k6/v2'];
  const { status, stderr } = spawn('go', args, { cwd: k6Folder, encoding: 'utf8' });
  if (status === 0) return;
  console.error(stderr);
  stop(
    'k6 could not be built (its message is above)',
    'check the network and the Go module proxy, then run `npm run setup -- --with-k6` again',
  );
}

function goVersion() {
  if (!has('go')) return 0;
  const match = /go1\.(\d+)/.exec(execFileSync('go', ['version'], { encoding: 'utf8' }));
  return match ? 1 + Number(match[1]) / 100 : 0;
}

/** Servers that only `npm run test:all` needs. A test run that lacks one says so. */
const missingNewerServers = () =>
  Object.keys(unstableServers).filter((name) => asked(name) && !isUnpacked(home, name));

function installNewerServers() {
  const missing = missingNewerServers();
  const still = has('apt-get') ? unpackServers(home, missing) : missing;
  if (still.length > 0)
    say(
      `missing: ${still.join(', ')}, so the tests on them cannot run: ` +
        'no Debian, or its packages are out of reach',
    );
}

const schemathesis = 'schemathesis==4.32.5';
const pythonFolder = join(home, 'schemathesis');
const pythonStamp = join(pythonFolder, '.lockstep-package');
const hasSchemathesis = () =>
  existsSync(pythonStamp) && readFileSync(pythonStamp, 'utf8') === schemathesis;

function installSchemathesis() {
  const pip = join(pythonFolder, 'bin', 'pip');
  const isDone =
    run('python3', ['-m', 'venv', pythonFolder]) && run(pip, ['install', '--quiet', schemathesis]);
  if (isDone) writeFileSync(pythonStamp, schemathesis);
  else say('Schemathesis cannot run: it needs the network, and python3 with venv (python3-venv)');
}

function build() {
  rmSync(compileCache, { recursive: true, force: true }); // Of the old code.
  if (!run('npm', ['run', '--silent', 'build'])) stop('the build failed (its message is above)');
}

/** In order, with the seconds that each usually takes on two cores. */
const steps = [
  { name: 'npm packages', usually: 15, isMissing: () => !hasPackages(), work: installPackages },
  {
    name: 'Debian packages; no service is started',
    parts: () => packagesOf(missingServers()),
    usually: 60,
    isMissing: () => missingServers().length > 0,
    work: installServers,
  },
  {
    name: `k6 ${k6Version}, built with Go`,
    usually: 100,
    isMissing: () => asked('k6') && !hasK6(),
    work: installK6,
  },
  {
    name: 'newer servers for the tests, from Debian unstable',
    parts: missingNewerServers,
    usually: 20,
    isMissing: () => missingNewerServers().length > 0,
    work: installNewerServers,
  },
  {
    name: 'Schemathesis, in an environment of its own',
    usually: 30,
    isMissing: () => asked('schemathesis') && !hasSchemathesis(),
    work: installSchemathesis,
  },
  { name: 'compile', usually: 5, isMissing: () => !isBuilt(), work: build },
];

function setUp() {
  const missing = steps.filter(({ isMissing }) => isMissing());
  for (const [index, step] of missing.entries()) {
    const startedAt = Date.now();
    const place = `step ${index + 1} of ${missing.length}`;
    say(`${place}, ${step.name} (usually ${step.usually} s) …`);
    if (step.parts) say(`  ${step.parts().join(' ')}`);
    step.work();
    say(`${place} took ${Math.ceil((Date.now() - startedAt) / 1_000)} s`);
  }
}

say(`Node ${process.versions.node}${ownNode ? ', of .lockstep/' : ''}`);
mkdirSync(home, { recursive: true });
setUp();
