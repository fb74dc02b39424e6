/**
 * docker-compose.yml and containers/lab.yml: every name in them exists, the service accepts its
 * settings, and the containers stay closed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configNames, labTokenSecret, readConfig, secretNames } from '../../src/service/config.ts';
import { allowedRungs, rungNames } from '../../src/service/ladder/rungs.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly scale?: number;
  readonly user?: string;
  readonly environment: Readonly<Record<string, string | null>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[]; readonly interval: string };
  readonly ports?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
}
type Services = Readonly<Record<string, Service>>;

/** The second file is added to the first, as compose does it for what the files have. */
function together(...files: string[]): Services {
  const all: Record<string, Service> = {};
  const added = files.flatMap((file) =>
    Object.entries((parse(read(file), { merge: true }) as { services: Services }).services),
  );
  for (const [name, service] of added) {
    const environment = { ...all[name]?.environment, ...service.environment };
    all[name] = { ...all[name], ...service, environment };
  }
  return all;
}

const labVariables: Readonly<Record<string, string>> = Object.fromEntries(
  [...read('containers/lab.env').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);
const secret = 'a secret that only this deployment and its issuer know';
const lab = together(...(labVariables['COMPOSE_FILE'] ?? '').split(':'));

/** A value as compose fills it in with these variables. */
const filled = (value: string, variables: Readonly<Record<string, string>>) =>
  value
    .replaceAll(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, other) => variables[name] ?? other)
    .replaceAll('$$', '$');

describe.each([
  ['deployment', together('docker-compose.yml'), { TOKEN_SECRET: secret }],
  ['lab', lab, labVariables],
] as const)('the %s', (shape, services, variables) => {
  const names = Object.keys(services);
  const of = (name: string) => services[name] ?? expect.unreachable(`there is no ${name}`);
  /** The secrets of the container are the lab's. */
  const environment = (name: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      Object.entries(of(name).environment).map(([key, value]) => {
        const text = filled(value ?? '', variables);
        return [key, text.replace(/^\/run\/secrets\//, 'containers/lab-')];
      }),
    );
  const ours = names.filter((name) => of(name).image === 'lockstep');

  test('has API instances that only sell, workers that only record, and nginx in front', () => {
    expect(ours).toEqual(['api', 'workers']);
    expect(of('api').scale).toBe(4);
    expect(names.filter((name) => of(name).build)).toEqual(['api']); // One image, built once.
    expect(readConfig(environment('api'))).toMatchObject({ INSTANCES: 1, ORDER_WORKERS: 0 });
    expect(readConfig(environment('workers'))).toMatchObject({ INSTANCES: 0, ORDER_WORKERS: 2 });
    expect(names).toContain('nginx');
  });

  test('waits only for services that exist and have a health check', () => {
    const waits = names.flatMap((name) => Object.entries(of(name).depends_on ?? {}));
    expect(waits.length).toBeGreaterThan(4);
    for (const [other, { condition }] of waits) {
      expect(condition, other).toBe('service_healthy');
      expect(of(other).healthcheck, other).toBeDefined();
    }
  });

  test('checks its health seldom, and without starting Node or a JVM', () => {
    for (const name of names.filter((each) => each !== 'k6')) {
      const { interval = '', test: command = [] } = of(name).healthcheck ?? {};
      expect(Number.parseInt(interval, 10), name).toBeGreaterThanOrEqual(5);
      expect(command.length, name).toBeGreaterThan(1);
      expect(command.join(' '), name).not.toMatch(/\bnode\b|zkServer|java/);
    }
    expect(read('containers/healthy.sh')).not.toMatch(/^\s*node\b/m);
  });

  test('publishes one port, to this machine only', () => {
    const ports = names.flatMap((name) => of(name).ports ?? []);
    expect(ports.map((port) => filled(port, variables))).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:\d+:\d+$/),
    ]);
  });

  test.each(names)('closes %s: no rights, no disk, limits, a log that is rotated', (name) => {
    const options = { 'max-size': expect.any(String), 'max-file': expect.any(String) };
    expect(of(name)).toMatchObject({
      ...{ cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      ...{ read_only: name !== 'zookeeper', logging: { options } },
      ...{ pids_limit: 200, mem_limit: expect.stringMatching(/^\d+[mg]$/) },
      ...(!ours.includes(name) && name !== 'k6' && { user: expect.any(String) }),
    });
  });

  /** What the image declares as a volume. */
  const volumes = {
    redis: ['/data'],
    mysql: ['/var/lib/mysql'],
    zookeeper: ['/data', '/datalog', '/logs'],
    rabbitmq: ['/var/lib/rabbitmq', '/var/log/rabbitmq'],
  };
  test.each(Object.entries(volumes))('leaves no volume of %s without a name', (image, needed) => {
    for (const each of Object.values(services).filter((one) => one.image?.startsWith(image))) {
      const mounted = (each.volumes ?? []).map((volume) => volume.split(':')[1]);
      expect([...mounted, ...(each.tmpfs ?? [])]).toEqual(expect.arrayContaining(needed));
    }
  });

  test('stops its service and nginx later than they drain', () => {
    const graceSeconds = (name: string) =>
      Number(/^(\d+)s$/.exec(of(name).stop_grace_period ?? '10s')?.[1]);
    for (const name of ours) {
      const { DRAIN_MS } = readConfig(environment(name));
      expect(graceSeconds(name) * 1_000).toBeGreaterThan(DRAIN_MS + 5_000);
    }
    const [, answers] =
      /proxy_read_timeout (\d+)s/.exec(read('nginx/lockstep.conf.template')) ?? [];
    expect(graceSeconds('nginx')).toBeGreaterThan(Number(answers));
  });

  test.each(['api', 'workers'])('gives %s names that the service knows, and its own', (name) => {
    const files = secretNames.map((secretName) => `${secretName}_FILE`);
    const known = ['NODE_ENV', ...configNames, ...files];
    expect(known).toEqual(expect.arrayContaining(Object.keys(environment(name))));
    expect(environment(name)['NAME']).toBe(''); // The host's: every replica has its own.
  });

  test.each([
    ['api', 'lockstep-api'],
    ['workers', environment('mysql')['MYSQL_USER']],
  ])('has the password of %s in a file, and not in its environment', (name, account) => {
    expect(new URL(environment(name)['MYSQL_URL'] ?? '').password).toBe('');
    const { username, password } = new URL(readConfig(environment(name)).MYSQL_URL);
    expect(password).toBe(username); // As the lab's secrets are.
    expect(username).toBe(account);
    expect(environment('mysql')).not.toHaveProperty('MYSQL_PASSWORD');
  });

  test.each(['api', 'workers'])('lets %s sell by the rungs whose servers there are', (name) => {
    const config = readConfig(environment(name));
    const isLab = shape === 'lab';
    expect(config.LAB).toBe(isLab);
    expect(allowedRungs(config.ALLOWED_RUNGS)).toEqual(isLab ? rungNames : ['lua-stream']);
    const hostOf = (url: string) => new URL(url).hostname;
    const needed = [config.MYSQL_URL, config.REDIS_URL].map(hostOf);
    expect(Object.keys(of(name).depends_on ?? {})).toEqual(expect.arrayContaining(needed));
    const masters = new Set(config.REDLOCK_URLS.map(hostOf));
    const queues = isLab ? [hostOf(config.RABBITMQ_URL), config.ZOOKEEPER_URL.split(':')[0]] : [];
    expect(masters.size).toBe(isLab ? 3 : 0);
    expect(names).toEqual(expect.arrayContaining([...masters, ...queues]));
    if (!isLab) expect(config.RABBITMQ_URL).toBe('');
  });

  test('lets nginx ask for the replicas again and again, at the port they listen on', () => {
    const { UPSTREAM_SERVERS } = environment('nginx');
    expect(UPSTREAM_SERVERS).toMatch(/^resolver 127\.0\.0\.11 valid=\d+s ipv6=off; /);
    expect(UPSTREAM_SERVERS).toContain(`server api:${environment('api')['PORT']} resolve `);
  });

  test('fills in every name of nginx’s template, and leaves nginx’s own variables alone', () => {
    const template = read('nginx/lockstep.conf.template').replaceAll(/#.*$/gm, '');
    const filter = new RegExp(environment('nginx')['NGINX_ENVSUBST_FILTER'] ?? 'no filter');
    const names = [...template.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(environment('nginx')).toHaveProperty(name);
    for (const name of names) expect(name).toMatch(filter);
    for (const [, own] of template.matchAll(/\$([a-z_]+)/g)) expect(own).not.toMatch(filter);
  });
});

test('the secrets of a deployment have no default', () => {
  expect(read('docker-compose.yml')).toMatch(/^ {2}TOKEN_SECRET: \$\{TOKEN_SECRET:\?/m);
  expect(read('docker-compose.yml')).not.toContain(labTokenSecret);
  expect(read('.gitignore').split('\n')).toEqual(expect.arrayContaining(['secrets/', '.env']));
});

test('the secrets of the lab are those of k6 and of the command line', () => {
  expect(labVariables['TOKEN_SECRET']).toBe(labTokenSecret);
  expect(read('k6/lib/settings.js')).toContain(`'${labTokenSecret}'`);
  const ofK6 = lab['k6']?.environment['TOKEN_SECRET'] ?? '';
  expect(filled(ofK6, labVariables)).toBe(labTokenSecret);
  expect(labVariables['MYSQL_PASSWORD_FILE']).toBe('./containers/lab-mysql-password');
  const { username, password } = new URL(read('containers/lab-redis-url').trim());
  expect(read('containers/lab-redis-users')).toContain(`\nuser ${username} on >${password} `);
});

test('k6 has the version of set-up, and every setting that its scripts read', () => {
  const [, version] = /k6Version = 'v([\d.]+)'/.exec(read('scripts/k6-version.mjs')) ?? [];
  expect(lab['k6']?.image).toBe(`grafana/k6:${version}`);
  const files = readdirSync('k6', { recursive: true, encoding: 'utf8' });
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => read(`k6/${file}`));
  const pattern = /(?:__ENV\.|(?:number|positive|setting)\(\s*')([A-Z0-9_]+)/g;
  const names = scripts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name));
  expect(names).toContain('WORK_MS');
  expect(Object.keys(lab['k6']?.environment ?? {})).toEqual(expect.arrayContaining(names));
  for (const name of names) expect(read('scripts/k6.mjs')).toContain(`'${name}'`);
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  test('has the Node of this project, no cache of npm, and no rights', () => {
    const majors = [...dockerfile.matchAll(/^FROM node:(\d+)-/gm)].map(([, major]) => major);
    expect(majors).toEqual(['26', '26']);
    const last = dockerfile.split(/^FROM /m).at(-1);
    expect(last).toMatch(/npm ci --omit=dev .*--cache (\S+) && rm -rf \1/);
    expect(last).toContain('USER node');
  });

  test('compiles without the page, whose build needs more than the image gets', () => {
    const runs = [...dockerfile.matchAll(/^RUN (np[mx] (?:run )?\S+)/gm)].map(([, run]) => run);
    expect(runs).toEqual(['npm ci', 'npx tsc', 'npm ci']);
  });

  test('gets the files that it is made of, and no others', () => {
    const copies = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)];
    const copied = new Set(copies.flatMap(([, paths = '']) => paths.split(' ')));
    const [first, ...allowed] = read('Dockerfile.dockerignore').trim().split('\n');
    expect(first).toBe('*');
    expect(allowed.toSorted()).toEqual([...copied].map((path) => `!${path}`).toSorted());
  });

  test('of the lab gets the whole project, also when a dev container is made of it', () => {
    const ignored = read('.dockerignore').trim().split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['.env*', 'secrets', 'node_modules']));
    for (const path of ['*', 'src', 'scripts', 'test', 'lua', 'k6', 'nginx', 'docs', 'containers'])
      expect(ignored).not.toContain(path);
    // A dev container has a Dockerfile of another name: it would not find this file.
    expect(readdirSync('containers')).not.toContain('lab.Dockerfile.dockerignore');
  });
});
