// `npm run try-compose`: brings up docker-compose.yml as a lab and as a deployment, with a project
// name of its own, and tries it. `npm run try-compose -- up faults` does some parts only;
// `down` removes what they leave.
// The exit code is 0 when all is as expected, 1 when something is not, and 2 when it could not
// tell, because no Docker engine answers. `--where-possible` makes that 0, for the long form of
// the drills.
// Built-ins only, as in setup.mjs.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { shop, startBuying } from './shop.mjs';
import './on-node.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const labEnv = readFileSync(join(root, 'containers/lab.env'), 'utf8');
const labSecret = /^TOKEN_SECRET=(.*)$/m.exec(labEnv)[1];
const project = 'lockstep-try';
const instances = 4;
// The lab's secrets, and not those of a deployment that are set in this shell.
const env = { ...process.env };
const secretNames = [
  ...['TOKEN_SECRET', 'MYSQL_PASSWORD_FILE', 'MYSQL_API_PASSWORD_FILE'],
  ...['REDIS_USERS_FILE', 'REDIS_URL_FILE'],
];
const forgetSecrets = () => {
  for (const name of secretNames) delete env[name];
};
forgetSecrets();
const execute = promisify(execFile);

async function docker(...args) {
  const options = { cwd: root, env, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await execute('docker', args, options);
  return stdout.trim();
}
const compose = (...args) =>
  docker('compose', '--env-file', 'containers/lab.env', '--project-name', project, ...args);
const upAgain = (...args) =>
  compose('up', '--detach', '--wait', '--wait-timeout', '150', '--no-recreate', ...args);

const say = (text) => console.log(`try-compose: ${text}`);
function expect(isTrue, promise, seen) {
  if (!isTrue) throw new Error(`${promise}; seen: ${JSON.stringify(seen)}`);
  say(`✓ ${promise}`);
}

async function until(promise, withinMs, isTrue) {
  const deadline = Date.now() + withinMs;
  let seen;
  do {
    seen = await isTrue().catch((error) => String(error));
    if (seen === true) return say(`✓ ${promise}`);
    await sleep(200);
  } while (Date.now() < deadline);
  throw new Error(`${promise}: not within ${withinMs} ms; seen: ${JSON.stringify(seen)}`);
}

/** The address that nginx is published at: the one it has, or a free one. */
async function publishedUrl() {
  const known = await compose('port', 'nginx', '8080').catch(() => '');
  env.PUBLISHED_PORT = known.split(':')[1] ?? String(await freePort());
  return `http://127.0.0.1:${env.PUBLISHED_PORT}`;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const volumes = async () => (await docker('volume', 'ls', '--quiet')).split('\n').filter(Boolean);
const volumesOf = async (name) =>
  (await volumes()).filter((volume) => volume.startsWith(`${name}_`));
const nameless = async () => (await volumes()).filter((volume) => /^[0-9a-f]{64}$/.test(volume));

async function up() {
  const startedAt = Date.now();
  await upAgain('--build');
  say(`✓ every service is healthy after ${Math.round((Date.now() - startedAt) / 1_000)} s`);
}

async function purchase({ url, client }) {
  const voucherId = await client.createVoucher(5);
  const order = await client.buy(voucherId, '7', 5_000);
  await until('a purchase is recorded', 10_000, async () => {
    return (await client.stateOf(order, '7')) === 'confirmed';
  });
  const noToken = await fetch(`${url}/vouchers/${voucherId}/orders`, { method: 'POST' });
  expect(noToken.status === 401, 'a purchase without a token is refused', noToken.status);
  return voucherId;
}

/** nginx's own health check takes a turn every 5 s, so a second look may be needed. */
async function turns({ url }) {
  await until(`requests alternate strictly between ${instances} instances`, 10_000, async () => {
    const seen = [];
    for (let request = 0; request < 5 * instances; request++)
      seen.push((await fetch(`${url}/livez`)).headers.get('x-instance'));
    const isAlternating = seen.every((name, index) => name === seen[index % instances]);
    return (isAlternating && new Set(seen).size === instances) || seen;
  });
}

async function k6() {
  await compose('run', '--rm', 'k6', 'run', '--quiet', '/k6/rush.js');
  say('✓ k6 sells exactly the stock, through nginx');
}

/** Restarts and kills each service while users buy: nothing is lost, and nothing sold twice. */
async function faults({ client }) {
  const services = await compose('config', '--services');
  for (const name of services.split('\n').toSorted()) {
    const voucherId = await client.createVoucher(10_000);
    const buying = startBuying(client, voucherId, 1);
    await compose('restart', name);
    await upAgain();
    await compose('kill', name);
    await sleep(1_000);
    await compose('start', name);
    await upAgain();
    const { purchases, accepted } = await buying.stop();
    expect(accepted === purchases, `restart and kill of ${name}: ${purchases} accepted`, accepted);
    await until('  each is recorded once', 30_000, async () => {
      const { verdict, orders, usersWithTwoOrders, findings } = await client.audit(voucherId);
      const isComplete = orders === accepted && usersWithTwoOrders === 0 && verdict === 'held';
      const others = findings?.filter((finding) => finding.verdict !== 'held');
      return isComplete || { verdict, orders, usersWithTwoOrders, others };
    });
  }
}

/** nginx starts while no instance is there, and finds instances at other addresses. */
async function addresses({ url }) {
  const answers = async (status) => (await fetch(`${url}/livez`)).status === status;
  await compose('stop', 'api');
  await compose('up', '--detach', '--no-deps', '--force-recreate', 'nginx');
  await until('nginx starts without an instance, and says not-ready', 10_000, () => answers(503));
  await compose('up', '--detach', '--no-deps', '--force-recreate', '--wait', 'api');
  await until('nginx finds the instances', 10_000, () => answers(200));
  await compose('up', '--detach', '--no-deps', '--force-recreate', '--wait', 'workers', 'api');
  await until('nginx finds new instances', 10_000, () => answers(200));
  await turns({ url });
}

async function data({ url }) {
  const before = await (await fetch(`${url}/vouchers`)).json();
  const known = await nameless();
  await compose('down');
  const left = (await nameless()).filter((volume) => !known.includes(volume));
  expect(left.length === 0, '`down` leaves no volume without a name', left);
  await upAgain();
  const after = await (await fetch(`${url}/vouchers`)).json();
  const isSame = JSON.stringify(after) === JSON.stringify(before);
  expect(isSame, '`down` and `up` keep the data', { before, after });
}

/** Each command of an operator, from the image, beside the service. */
async function operators(run, voucherId) {
  const by = async (program, ...args) =>
    run('exec', '--no-TTY', 'api', 'node', `dist/service/bin/${program}.js`, ...args);
  const shows = async (part, program, ...args) => {
    const text = await by(program, ...args);
    expect(text.includes(part), `${[program, ...args].join(' ')}: ${part}`, text);
  };
  await shows('held', 'audit', voucherId);
  await shows('There are no dead letters', 'dead-letters', 'list');
  const asLockstep = ['redis-cli', '--no-auth-warning', '--user', 'lockstep', '--pass', 'lockstep'];
  const addEntry = [...asLockstep, 'XADD', '{sale:0}:orders', '*', 'no', 'order'];
  await run('exec', '--no-TTY', 'redis-main', ...addEntry);
  await until('an entry that is no order is dead-lettered', 10_000, async () =>
    (await by('dead-letters', 'list', '--reason', 'malformed')).includes('1 of 1'),
  );
  await shows('1 done, 0 refused', 'dead-letters', 'discard', '--all', '--reason', 'malformed');
  await shows('consistent', 'reconcile');
  await shows('consistent', 'reconcile', '--repair');
  await shows('rebuilt', 'reconcile', '--rebuild');
  await shows('removed from Redis: 0', 'ended-sales', '--days', '7');
}

/** With letters that a URL or a shell might misread. @returns its file */
function newPassword(name) {
  const file = join(root, '.lockstep', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${randomBytes(12).toString('base64')}/+%\n`, { mode: 0o644 });
  return file;
}

/** The API instances read and write rows, and strangers who take one over can drop no table. */
async function accounts(run) {
  const account = 'MYSQL_PWD=$(cat /run/secrets/mysql-api-password) mysql --user=lockstep-api';
  const by = (statement) =>
    run('exec', '--no-TTY', 'mysql', 'sh', '-c', `${account} lockstep --execute="${statement}"`);
  await by('SELECT COUNT(*) FROM orders');
  const refused = await by('DROP TABLE orders').catch(({ stderr }) => stderr);
  expect(refused.includes('denied'), 'the account of the API may not drop a table', refused);
}

/** docker-compose.yml alone: secrets of its own, the final rung only. */
async function deployment({ url }) {
  await down();
  const name = `${project}-deployment`;
  const secret = randomBytes(32).toString('base64url');
  env.TOKEN_SECRET = secret;
  env.MYSQL_PASSWORD_FILE = newPassword('try-compose-password');
  env.MYSQL_API_PASSWORD_FILE = newPassword('try-compose-api-password');
  env.REDIS_USERS_FILE = './containers/lab-redis-users';
  env.REDIS_URL_FILE = './containers/lab-redis-url';
  const run = (...args) =>
    docker('compose', '--file', 'docker-compose.yml', '--project-name', name, ...args);
  try {
    await run('up', '--detach', '--wait', '--wait-timeout', '150', '--no-build');
    const voucherId = await purchase({ url, client: shop(url, secret) });
    await operators(run, voucherId);
    await accounts(run);
    await purchase({ url, client: shop(url, secret) });
    const noop = await shop(url, secret).send('/lab/noop', '7', 'user', { method: 'POST' });
    expect(noop.status === 404, 'a deployment has no routes of the lab', noop.status);
  } finally {
    await run('down', '--volumes');
    forgetSecrets();
  }
}

async function down() {
  await compose('down', '--volumes', '--remove-orphans');
  const left = await volumesOf(project);
  expect(left.length === 0, '`down --volumes` leaves nothing behind', left);
}

const parts = { up, purchase, turns, k6, faults, addresses, data, deployment, down };

async function engineVersion() {
  await docker('compose', 'version');
  return docker('version', '--format', '{{.Server.Version}}');
}

async function main(args) {
  const chosen = args.filter((arg) => arg !== '--where-possible');
  const unknown = chosen.filter((name) => !(name in parts));
  if (unknown.length > 0) {
    say(`no such part: ${unknown.join(', ')}. The parts: ${Object.keys(parts).join(', ')}`);
    return 2;
  }
  const version = await engineVersion().catch((error) => {
    say('NO DOCKER ENGINE WITH COMPOSE ANSWERS, so nothing of docker-compose.yml was TRIED.');
    const lines = String(error.stderr || error.message).trim();
    say(lines.split('\n').at(-1));
  });
  if (version === undefined) return args.includes('--where-possible') ? 0 : 2;
  const url = await publishedUrl();
  say(`Docker ${version}, ${url}`);
  const context = { url, client: shop(url, labSecret) };
  try {
    for (const name of chosen.length > 0 ? chosen : Object.keys(parts)) await parts[name](context);
    return 0;
  } catch (error) {
    say(`✗ ${error.message}`);
    if (chosen.length === 0) await compose('down', '--volumes').catch(() => {});
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
