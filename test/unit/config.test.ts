/** The configuration: safe by default, refused with every problem named, and without secrets. */
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  configNames,
  instancesByDefault,
  labTokenSecret,
  readConfig,
  secretNames,
} from '../../src/config.ts';
import { ConfigurationInvalid } from '../../src/errors.ts';
import { someFolder } from '../support/folder.ts';

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
    if (error instanceof ConfigurationInvalid) return error.message;
    throw error;
  }
  throw new Error('this environment was accepted');
}

describe('the configuration', () => {
  test('is safe by default: loopback, no lab, the final rung only', () => {
    const config = readConfig(least);
    expect(config).toMatchObject({ HOST: '127.0.0.1', LAB: false, ALLOWED_RUNGS: ['lua-stream'] });
    expect(config).toMatchObject({ PORT: 8080, ORDER_WORKERS: 1, BALANCER: 'nginx' });
    expect(config.INSTANCES).toBe(instancesByDefault());
    expect(config).toMatchObject({ SALE_SHARDS: 1, REDIS_CLUSTER: false });
  });

  test('needs MySQL, Redis and the secret, and nothing else', () => {
    const named = configNames.filter((name) => complaint({}).includes(`${name}: `));
    expect(named).toEqual(['MYSQL_URL', 'REDIS_URL', 'TOKEN_SECRET']);
  });

  test('has exactly the names that it documents, and ignores the rest of the environment', () => {
    expect(Object.keys(readConfig({ ...least, PATH: '/bin', HOME: '/' })).sort()).toEqual(
      [...configNames].sort(),
    );
  });

  test.each([
    ['PORT', '70000'],
    ['PORT', '0'],
    ['INSTANCES', '-1'],
    ['INSTANCES', 'four'],
    ['NAME', 'API 1'],
    ['NAME', 'a'.repeat(65)],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://shop.example,https://shop.example/pay'],
    ['BALANCER', 'haproxy'],
    ['SALE_SHARDS', '0'],
    ['SALE_SHARDS', '65'],
    ['REDIS_CLUSTER', 'true'],
    ['LAB', 'yes'],
    ['ORDER_IDS', 'auto-increment'],
    ['BATCH_SIZE', '2.5'],
    ['CLAIM_IDLE_MS', 'Infinity'],
    ['MYSQL_URL', 'localhost'],
    ['ZOOKEEPER_URL', 'zookeeper'],
    ['ZOOKEEPER_URL', 'http://127.0.0.1:2181'],
    ['ZOOKEEPER_SESSION_MS', '100'],
    ['REDIS_SENTINELS', 'redis://127.0.0.1:26379'],
    ['REDIS_SENTINEL_NAME', ''],
    ['ORDER_DURABILITY', 'never'],
    ['PROGRESS_WITHIN_MS', '500'],
    ['TOKEN_SECRET', 'short'],
    ['LOG_LEVEL', 'loud'],
    ['TRACES_URL', 'collector:4318'],
    ['TRACES_URL', 'http://user:password@collector:4318'],
    ['TRACES_RATIO', '2'],
    ['TRACES_RATIO', ''],
  ])('refuses %s=%j and names it', (name, value) => {
    expect(complaint({ ...least, [name]: value })).toContain(`${name}: `);
  });

  test.each(['INSTANCES', 'ORDER_WORKERS', 'BATCH_GATHER_MS'] as const)(
    'does not take an empty %s for a zero',
    (name) => {
      let read: unknown = 'refused';
      try {
        read = readConfig({ ...least, [name]: '' })[name];
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigurationInvalid);
      }
      expect(read).not.toBe(0);
    },
  );

  test('has as many instances as there are cores, but two where there is one', () => {
    expect([1, 2, 8, 128].map(instancesByDefault)).toEqual([2, 2, 8, 64]);
  });

  test('reads the Sentinels as addresses, and none by default', () => {
    expect(readConfig(least).REDIS_SENTINELS).toEqual([]);
    const REDIS_SENTINELS = 'one:26379,10.0.0.2:26380';
    expect(readConfig({ ...least, REDIS_SENTINELS })).toMatchObject({
      REDIS_SENTINELS: [
        { host: 'one', port: 26379 },
        { host: '10.0.0.2', port: 26380 },
      ],
      REDIS_SENTINEL_NAME: 'redis-main',
    });
    expect(complaint({ ...least, REDIS_SENTINELS, REDIS_CLUSTER: '1' })).toMatch(
      /REDIS_SENTINELS: /,
    );
  });

  test('keeps accepted orders through a power cut by default, and may wait for a replica in a cluster', () => {
    expect(readConfig(least).ORDER_DURABILITY).toBe('always');
    const REDIS_CLUSTER_NODES = 'one:7000';
    const cluster = {
      ...least,
      REDIS_CLUSTER: '1',
      REDIS_CLUSTER_NODES,
      ORDER_DURABILITY: 'replica',
    };
    expect(readConfig(cluster)).toMatchObject({
      ...{ REDIS_CLUSTER: true, ORDER_DURABILITY: 'replica', ORDER_REPLICAS: 1 },
      REDIS_CLUSTER_NODES: [{ host: 'one', port: 7000 }],
    });
    expect(complaint({ ...least, REDIS_CLUSTER_NODES })).toMatch(/REDIS_CLUSTER_NODES: needs/);
  });

  test('names every problem at once, also that of a relation between two values', () => {
    const wrong = { PORT: '-1', LAB: 'on', BALANCER: 'x', LOG_LEVEL: '', TOKEN_SECRET: 'no' };
    const message = complaint({ ...wrong, LOCK_LEASE_MS: '10' });
    for (const name of [...Object.keys(wrong), 'MYSQL_URL', 'REDIS_URL', 'LOCK_LEASE_MS'])
      expect.soft(message).toContain(`${name}: `);
  });

  test('never repeats a value that it refuses, because some are secret', () => {
    const values = {
      MYSQL_URL: 'shop:hunter2@db',
      REDIS_URL: ':opensesame@cache',
      TOKEN_SECRET: 'tooshort',
    };
    const message = complaint({ ...values, LOG_LEVEL: 'hunter3', PORT: 'hunter4' });
    for (const value of [...Object.values(values), 'hunter', 'opensesame'])
      expect(message).not.toContain(value);
  });

  test('makes a lease last at least three answers', () => {
    const times = { ...least, LOCK_ANSWER_MS: '500' };
    expect(readConfig({ ...times, LOCK_LEASE_MS: '1500' }).LOCK_LEASE_MS).toBe(1_500);
    expect(complaint({ ...times, LOCK_LEASE_MS: '1499' })).toContain('LOCK_LEASE_MS: ');
  });

  test('makes a worker claim an order twice before it counts as stuck', () => {
    const times = { ...least, PROGRESS_WITHIN_MS: '4000' };
    expect(readConfig({ ...times, CLAIM_IDLE_MS: '2000' }).CLAIM_IDLE_MS).toBe(2_000);
    const message = complaint({ ...times, CLAIM_IDLE_MS: '2001' });
    expect(message).toContain('CLAIM_IDLE_MS: must be at most half of PROGRESS_WITHIN_MS');
    expect(complaint(times)).toBe(message); // The default is 5,000.
    expect(complaint({ ...times, CLAIM_IDLE_MS: '5000', PORT: '-1' })).toContain('CLAIM_IDLE_MS: ');
  });

  test.each(['TOKEN_SECRET', 'TOKEN_SECRET_BEFORE'])(
    'refuses the published secret of the lab outside the lab, as %s',
    (name) => {
      const published = { ...least, [name]: labTokenSecret };
      expect(complaint(published)).toContain(`${name}: `);
      expect(readConfig({ ...published, LAB: '1' }).LAB).toBe(true);
    },
  );

  test('refuses the keys of an issuer without its name and an audience', () => {
    const keys = { ...least, TOKEN_JWKS_URL: 'https://login.example/keys' };
    const both = { TOKEN_ISSUER: 'https://login.example', TOKEN_AUDIENCE: 'shop' };
    expect(complaint(keys)).toContain('TOKEN_JWKS_URL: needs TOKEN_ISSUER and TOKEN_AUDIENCE');
    for (const name of ['TOKEN_ISSUER', 'TOKEN_AUDIENCE'])
      expect(complaint({ ...keys, ...both, [name]: '' })).toContain('TOKEN_JWKS_URL: ');
    expect(readConfig({ ...keys, ...both }).TOKEN_JWKS_URL).toBe(keys.TOKEN_JWKS_URL);
  });

  test('refuses a secret of before that can be guessed, and takes none', () => {
    expect(complaint({ ...least, TOKEN_SECRET_BEFORE: 'short' })).toContain(
      'TOKEN_SECRET_BEFORE: ',
    );
    expect(readConfig({ ...least, TOKEN_SECRET_BEFORE: '' }).TOKEN_SECRET_BEFORE).toBe('');
  });

  test.each([
    'a'.repeat(32),
    'abcabc'.repeat(8),
    'change-me-change-me-change-me-0123',
    'CHANGEME_'.repeat(5),
  ])('refuses a secret that is easy to guess: %s', (weak) => {
    const message = complaint({ ...least, TOKEN_SECRET: weak });
    expect(message).toContain('TOKEN_SECRET: must be random');
    expect(message).not.toContain(weak);
  });

  test('refuses the lab in production', () => {
    const lab = { ...least, LAB: '1' };
    expect(complaint({ ...lab, NODE_ENV: 'production' })).toContain('LAB: must not be 1 with');
    expect(readConfig({ ...lab, NODE_ENV: 'test' }).LAB).toBe(true);
    expect(readConfig({ ...least, NODE_ENV: 'production' }).LAB).toBe(false);
  });

  test.each([
    ['LOCK_LEASE', 'LOCK_LEASE_MS'],
    ['LOCK_LAESE_MS', 'LOCK_LEASE_MS'],
    ['INSTANCES_', 'INSTANCES'],
    ['SALE_SHARD', 'SALE_SHARDS'],
    ['MYSQL_POOLSIZE', 'MYSQL_POOL_SIZE'],
    ['TOKEN_SECERT', 'TOKEN_SECRET'],
  ])('refuses %s, which looks like %s', (name, meant) => {
    const message = complaint({ ...least, [name]: 'a value' });
    expect(message).toContain(`${name}: is not known; ${meant} is`);
    expect(message).not.toContain('a value');
  });

  test.each([
    'HOSTNAME',
    'REDIS_PORT',
    'MYSQL_SERVICE_HOST',
    'NODE_ENV',
    'USERNAME',
    'LOG',
    'PORTS',
  ])('takes no offence at %s of another program', (name) => {
    expect(readConfig({ ...least, [name]: 'x' }).PORT).toBe(8_080);
  });

  test.each(['PRIVATE', 'PUBLIC'])('refuses a secret that would be read as a %s key', (word) => {
    const read = { ...least, TOKEN_SECRET: `thirty-two characters and ${word} and more` };
    expect(complaint(read)).toContain('TOKEN_SECRET: ');
  });

  test('reads a secret from the file that its name with _FILE names, without the last line break', () => {
    const { TOKEN_SECRET: _, ...rest } = least;
    const file = fileWith(`${secret}\n`);
    expect(readConfig({ ...rest, TOKEN_SECRET_FILE: file }).TOKEN_SECRET).toBe(secret);
  });

  test.each(secretNames)('names %s_FILE when it cannot be read, or is given twice', (name) => {
    const optional = {
      ...{ MYSQL_PASSWORD: 'hunter2', RABBITMQ_URL: 'amqp://mq:5672' },
      MYSQL_OWNER_URL: 'mysql://owner@db:3306/lockstep',
    };
    const given = { ...optional, TOKEN_SECRET_BEFORE: secret, ...least };
    const { [name]: _, ...rest } = given;
    expect(complaint({ ...rest, [`${name}_FILE`]: '/no/such/file' })).toContain(
      `${name}_FILE: cannot be read (ENOENT)`,
    );
    const twice = { ...given, [`${name}_FILE`]: fileWith('hunter2') };
    expect(complaint(twice)).toContain(`${name}_FILE: ${name} is set too`);
  });

  test('puts the password of MySQL into its address, whatever signs the password has', () => {
    const MYSQL_URL = 'mysql://shop@127.0.0.1:3306/shop';
    const password = 'p@ss/w%rd:?#+=';
    const url = new URL(readConfig({ ...least, MYSQL_URL, MYSQL_PASSWORD: password }).MYSQL_URL);
    expect(decodeURIComponent(url.password)).toBe(password);
    expect([url.username, url.host, url.pathname]).toEqual(['shop', '127.0.0.1:3306', '/shop']);
    expect(readConfig(least).MYSQL_URL).toBe(least.MYSQL_URL);
  });

  test('names its instances by the host when NAME is empty', () => {
    expect(readConfig(least).NAME).toBe('api');
    const { NAME } = readConfig({ ...least, NAME: '' });
    expect(NAME).toMatch(/^[a-z0-9-]{1,64}$/);
    expect(hostname().toLowerCase().replaceAll(/\W/g, '-')).toBe(NAME);
  });

  test('reads lists with spaces and empty parts', () => {
    const { ALLOWED_RUNGS } = readConfig({ ...least, ALLOWED_RUNGS: ' redlock , ,lua-stream,' });
    expect(ALLOWED_RUNGS).toEqual(['redlock', 'lua-stream']);
  });

  test('cannot be changed after it was read', () => {
    const config = readConfig(least);
    expect(Object.isFrozen(config)).toBe(true);
    expect(Reflect.set(config, 'LAB', true)).toBe(false);
    expect(config.LAB).toBe(false);
  });
});
