/** The configuration: safe by default, refused with every problem named, and without secrets. */
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type Config,
  configNames,
  instancesByDefault,
  labTokenSecret,
  readConfig,
  secretNames,
} from '../../src/service/config.ts';
import { isServiceError } from '../../src/service/errors.ts';
import { someFolder } from '../support/basics.ts';

const secret = 'a secret of more than thirty-two characters';
const least = {
  MYSQL_URL: 'mysql://shop:hunter2@127.0.0.1:3306/shop',
  REDIS_URL: 'redis://127.0.0.1:6379',
  TOKEN_SECRET: secret,
};

function fileWith(text: string): string {
  const file = join(someFolder(), 'secret');
  writeFileSync(file, text);
  return file;
}

/** The message about an environment that is refused. */
function complaint(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env);
  } catch (error) {
    if (isServiceError(error, 'CONFIGURATION_INVALID')) return error.message;
    throw error;
  }
  throw new Error('this environment was accepted');
}

test('is safe by default: loopback, no lab, the final rung only', () => {
  expect(readConfig(least)).toMatchObject({
    ...{ HOST: '127.0.0.1', LAB: false, ALLOWED_RUNGS: ['lua-stream'], BALANCER: 'nginx' },
    ...{ PORT: 8080, NAME: 'api', INSTANCES: instancesByDefault(), ORDER_WORKERS: 1 },
    ...{ SALE_SHARDS: 1, REDIS_CLUSTER: false, REDIS_SENTINELS: [], ORDER_DURABILITY: 'always' },
    MYSQL_URL: least.MYSQL_URL,
  });
});

test('needs MySQL, Redis and the secret, and nothing else', () => {
  const named = configNames.filter((name) => complaint({}).includes(`${name}: `));
  expect(named).toEqual(['MYSQL_URL', 'REDIS_URL', 'TOKEN_SECRET']);
});

test('has exactly the names that it documents, ignores others, and cannot be changed', () => {
  const config = readConfig({ ...least, PATH: '/bin', HOME: '/' });
  expect(Object.keys(config).sort()).toEqual([...configNames].sort());
  expect(Object.isFrozen(config)).toBe(true);
});

test('has as many instances as there are cores, but two where there is one', () => {
  expect([1, 2, 8, 128].map(instancesByDefault)).toEqual([2, 2, 8, 64]);
});

test.each([
  ...['PORT=70000', 'PORT=0', 'INSTANCES=-1', 'INSTANCES=four', 'INSTANCES=', 'NAME=API 1'],
  ...[`NAME=${'a'.repeat(65)}`, 'CORS_ORIGINS=*', 'BALANCER=haproxy', 'ORDER_WORKERS='],
  ...['CORS_ORIGINS=https://shop.example,https://shop.example/pay', 'BATCH_GATHER_MS='],
  ...['SALE_SHARDS=0', 'SALE_SHARDS=65', 'REDIS_CLUSTER=true', 'LAB=yes', 'BATCH_SIZE=2.5'],
  ...['ORDER_IDS=auto-increment', 'CLAIM_IDLE_MS=Infinity', 'PROGRESS_WITHIN_MS=500'],
  ...['MYSQL_URL=localhost', 'ZOOKEEPER_URL=zookeeper', 'ZOOKEEPER_URL=http://127.0.0.1:2181'],
  ...['ZOOKEEPER_SESSION_MS=100', 'REDIS_SENTINELS=redis://127.0.0.1:26379'],
  ...['REDIS_SENTINEL_NAME=', 'ORDER_DURABILITY=never', 'TOKEN_SECRET=short', 'LOG_LEVEL=loud'],
  ...['TRACES_URL=collector:4318', 'TRACES_URL=http://user:password@collector:4318'],
  ...['TRACES_RATIO=2', 'TRACES_RATIO='],
])('refuses %s and names it', (given) => {
  const [name = '', value] = given.split('=');
  expect(complaint({ ...least, [name]: value })).toContain(`${name}: `);
});

const keys = { TOKEN_JWKS_URL: 'https://login.example/keys' };
const issuer = { ...keys, TOKEN_ISSUER: 'https://login.example', TOKEN_AUDIENCE: 'shop' };
const sentinels = { REDIS_SENTINELS: 'one:26379,10.0.0.2:26380' };
const cluster = { REDIS_CLUSTER: '1', REDIS_CLUSTER_NODES: 'one:7000' };
const claims = 'CLAIM_IDLE_MS: must be at most half of PROGRESS_WITHIN_MS';
const noIssuer = 'TOKEN_JWKS_URL: needs TOKEN_ISSUER and TOKEN_AUDIENCE';

test.each<[string, NodeJS.ProcessEnv]>([
  ['LOCK_LEASE_MS: must be at least three', { LOCK_ANSWER_MS: '500', LOCK_LEASE_MS: '1499' }],
  [claims, { PROGRESS_WITHIN_MS: '4000', CLAIM_IDLE_MS: '2001' }],
  [claims, { PROGRESS_WITHIN_MS: '4000' }], // The default is 5,000.
  [claims, { PROGRESS_WITHIN_MS: '4000', CLAIM_IDLE_MS: '5000', PORT: '-1' }],
  ['REDIS_SENTINELS: must be empty', { ...sentinels, REDIS_CLUSTER: '1' }],
  ['REDIS_CLUSTER_NODES: needs', { ...cluster, REDIS_CLUSTER: '0' }],
  [noIssuer, keys],
  [noIssuer, { ...issuer, TOKEN_ISSUER: '' }],
  [noIssuer, { ...issuer, TOKEN_AUDIENCE: '' }],
  ['LAB: must not be 1 with', { LAB: '1', NODE_ENV: 'production' }],
  ['TOKEN_SECRET: ', { TOKEN_SECRET: labTokenSecret }],
  ['TOKEN_SECRET_BEFORE: ', { TOKEN_SECRET_BEFORE: labTokenSecret }],
  ['TOKEN_SECRET_BEFORE: ', { TOKEN_SECRET_BEFORE: 'short' }],
  ['LOCK_LEASE: is not known; LOCK_LEASE_MS is', { LOCK_LEASE: 'x' }],
  ['LOCK_LAESE_MS: is not known; LOCK_LEASE_MS is', { LOCK_LAESE_MS: 'x' }],
  ['INSTANCES_: is not known; INSTANCES is', { INSTANCES_: 'x' }],
  ['SALE_SHARD: is not known; SALE_SHARDS is', { SALE_SHARD: 'x' }],
  ['MYSQL_POOLSIZE: is not known; MYSQL_POOL_SIZE is', { MYSQL_POOLSIZE: 'x' }],
  ['TOKEN_SECERT: is not known; TOKEN_SECRET is', { TOKEN_SECERT: 'x' }],
])('says "%s" of %j', (problem, given) => {
  expect(complaint({ ...least, ...given })).toContain(problem);
});

test.each<[NodeJS.ProcessEnv, Partial<Config>]>([
  [{ LOCK_ANSWER_MS: '500', LOCK_LEASE_MS: '1500' }, { LOCK_LEASE_MS: 1_500 }],
  [{ PROGRESS_WITHIN_MS: '4000', CLAIM_IDLE_MS: '2000' }, { CLAIM_IDLE_MS: 2_000 }],
  [issuer, issuer],
  [{ LAB: '1', NODE_ENV: 'test' }, { LAB: true }],
  [{ NODE_ENV: 'production' }, { LAB: false }],
  [{ LAB: '1', TOKEN_SECRET: labTokenSecret, TOKEN_SECRET_BEFORE: labTokenSecret }, { LAB: true }],
  [{ TOKEN_SECRET_BEFORE: '' }, { TOKEN_SECRET_BEFORE: '' }],
  [{ ALLOWED_RUNGS: ' redlock , ,lua-stream,' }, { ALLOWED_RUNGS: ['redlock', 'lua-stream'] }],
  [{ NAME: '' }, { NAME: hostname().toLowerCase().replaceAll(/\W/g, '-') }],
  [
    { ...cluster, ORDER_DURABILITY: 'replica' },
    {
      ...{ REDIS_CLUSTER: true, ORDER_DURABILITY: 'replica', ORDER_REPLICAS: 1 },
      REDIS_CLUSTER_NODES: [{ host: 'one', port: 7000 }],
    },
  ],
  [
    sentinels,
    {
      REDIS_SENTINELS: ['one', '10.0.0.2'].map((host, index) => ({ host, port: 26379 + index })),
      REDIS_SENTINEL_NAME: 'redis-main',
    },
  ],
])('takes %j', (given, config) => {
  expect(readConfig({ ...least, ...given })).toMatchObject(config);
});

const others = ['HOSTNAME', 'REDIS_PORT', 'MYSQL_SERVICE_HOST', 'NODE_ENV', 'USERNAME', 'PORTS'];
test.each([...others, 'LOG'])('takes no offence at %s of another program', (name) => {
  expect(readConfig({ ...least, [name]: 'x' }).PORT).toBe(8_080);
});

test('names every problem at once, also that of a relation between two values', () => {
  const wrong = { PORT: '-1', LAB: 'on', BALANCER: 'x', LOG_LEVEL: '', TOKEN_SECRET: 'no' };
  const message = complaint({ ...wrong, LOCK_LEASE_MS: '10' });
  for (const name of [...Object.keys(wrong), 'MYSQL_URL', 'REDIS_URL', 'LOCK_LEASE_MS'])
    expect.soft(message).toContain(`${name}: `);
});

test('never repeats a value that it refuses, because some are secret', () => {
  const values = { MYSQL_URL: 'shop:hunter2@db', REDIS_URL: ':opensesame@cache' };
  const more = { TOKEN_SECRET: 'tooshort', LOG_LEVEL: 'hunter3', PORT: 'hunter4' };
  const message = complaint({ ...values, ...more, TOKEN_SECERT: 'hunter5' });
  for (const value of [...Object.values(values), 'tooshort', 'hunter', 'opensesame'])
    expect(message).not.toContain(value);
});

test.each([
  ...['a'.repeat(32), 'abcabc'.repeat(8), 'CHANGEME_'.repeat(5)],
  ...['change-me-change-me-change-me-0123', 'thirty-two characters and PRIVATE or'],
  'thirty-two characters and PUBLIC or',
])('refuses a secret that is easy to guess, or would be read as a key: %s', (weak) => {
  const message = complaint({ ...least, TOKEN_SECRET: weak });
  expect(message).toMatch(/TOKEN_SECRET: must (be random|not contain PRIVATE)/);
  expect(message).not.toContain(weak);
});

test('reads a secret from the file that its name with _FILE names, without the last line break', () => {
  const env = { ...least, TOKEN_SECRET: undefined, TOKEN_SECRET_FILE: fileWith(`${secret}\n`) };
  expect(readConfig(env).TOKEN_SECRET).toBe(secret);
});

test.each(secretNames)('names %s_FILE when it cannot be read, or is given twice', (name) => {
  const optional = {
    ...{ MYSQL_PASSWORD: 'hunter2', RABBITMQ_URL: 'amqp://mq:5672', TOKEN_SECRET_BEFORE: secret },
    MYSQL_OWNER_URL: 'mysql://owner@db:3306/lockstep',
  };
  const given = { ...optional, ...least };
  const unread = { ...given, [name]: undefined, [`${name}_FILE`]: '/no/such/file' };
  expect(complaint(unread)).toContain(`${name}_FILE: cannot be read (ENOENT)`);
  const twice = { ...given, [`${name}_FILE`]: fileWith('hunter2') };
  expect(complaint(twice)).toContain(`${name}_FILE: ${name} is set too`);
});

test('puts the password of MySQL into its address, whatever signs the password has', () => {
  const MYSQL_URL = 'mysql://shop@127.0.0.1:3306/shop';
  const password = 'p@ss/w%rd:?#+=';
  const url = new URL(readConfig({ ...least, MYSQL_URL, MYSQL_PASSWORD: password }).MYSQL_URL);
  expect(decodeURIComponent(url.password)).toBe(password);
  expect([url.username, url.host, url.pathname]).toEqual(['shop', '127.0.0.1:3306', '/shop']);
});
