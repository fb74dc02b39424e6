/**
 * docker-compose.yml and containers/lab.yml: every name in them exists, the service accepts its
 * settings, and the containers stay closed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configNames, labTokenSecret, readConfig, secretNames } from '../../src/config.ts';
import { allowedRungs, rungNames } from '../../src/ladder/rungs.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const Service = z.object({
  build: z.string().optional(),
  image: z.string().optional(),
  scale: z.number().optional(),
  environment: z.record(z.string(), z.string().nullable()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).min(2), interval: z.string() }).optional(),
  ports: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  stop_grace_period: z.string().default('10s'),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  pids_limit: z.number().optional(),
  mem_limit: z.string().optional(),
  logging: z.object({ options: z.record(z.string(), z.string()) }).optional(),
});
type Services = Readonly<Record<string, z.output<typeof Service>>>;

const servicesOf = (file: string) =>
  z
    .object({ services: z.record(z.string(), z.looseObject({})) })
    .parse(parse(read(file), { merge: true })).services;

/** The second file is added to the first, as compose does it for what the files have. */
function together(...files: string[]): Services {
  const all: Record<string, Record<string, unknown>> = {};
  for (const [name, service] of files.flatMap((file) => Object.entries(servicesOf(file)))) {
    const environment = {
      ...Object(all[name]?.['environment']),
      ...Object(service['environment']),
    };
    all[name] = { ...all[name], ...service, environment };
  }
  return z.record(z.string(), Service).parse(all);
}

const variablesOf = (file: string): Record<string, string> =>
  Object.fromEntries(
    [...read(file).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );

const labVariables = variablesOf('containers/lab.env');
const secret = 'a secret that only this deployment and its issuer know';
const shapes = {
  deployment: { services: together('docker-compose.yml'), variables: { TOKEN_SECRET: secret } },
  lab: {
    services: together(...(labVariables['COMPOSE_FILE'] ?? '').split(':')),
    variables: labVariables,
  },
};

/** A value as compose fills it in with these variables. */
const filled = (value: string, variables: Readonly<Record<string, string>>) =>
  value
    .replaceAll(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, other) => variables[name] ?? other)
    .replaceAll('$$', '$');

describe.each(Object.entries(shapes))('the %s', (shape, { services, variables }) => {
  const names = Object.keys(services);
  const of = (name: string) => {
    const service = services[name];
    if (!service) throw new Error(`there is no service ${name}`);
    return service;
  };
  /** The secrets of the container are the lab's. */
  const environment = (name: string): Record<string, string> =>
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
    const [api, workers] = ours.map((name) => readConfig(environment(name)));
    expect(api).toMatchObject({ INSTANCES: 1, ORDER_WORKERS: 0 });
    expect(workers).toMatchObject({ INSTANCES: 0, ORDER_WORKERS: 2 });
    expect(names).toContain('nginx');
  });

  test('builds its image once', () => {
    expect(names.filter((name) => of(name).build !== undefined)).toEqual(['api']);
  });

  test('waits only for services that exist and have a health check', () => {
    const waits = names.flatMap((name) => Object.entries(of(name).depends_on));
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
      expect(command.join(' '), name).not.toMatch(/\bnode\b|zkServer|java/);
    }
    expect(read('containers/healthy.sh')).not.toMatch(/^\s*node\b/m);
  });

  test('publishes ports to this machine only', () => {
    const ports = names.flatMap((name) => of(name).ports);
    expect(ports).toHaveLength(1);
    for (const port of ports) expect(filled(port, variables)).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('closes every container: no rights, no disk, limits, a log that is rotated', () => {
    for (const name of names) {
      const service = of(name);
      expect.soft(service.cap_drop, name).toEqual(['ALL']);
      expect.soft(service.security_opt, name).toEqual(['no-new-privileges:true']);
      expect.soft(service.read_only, name).toBe(name !== 'zookeeper');
      expect.soft(service.pids_limit, name).toBeGreaterThan(0);
      expect.soft(service.mem_limit, name).toMatch(/^\d+[mg]$/);
      expect.soft(service.logging?.options, name).toHaveProperty('max-size');
      expect.soft(service.logging?.options, name).toHaveProperty('max-file');
      if (!ours.includes(name) && name !== 'k6') expect.soft(service.user, name).toBeDefined();
    }
  });

  test('leaves no volume without a name behind', () => {
    const ofImages: Record<string, string[]> = {
      redis: ['/data'],
      mysql: ['/var/lib/mysql'],
      zookeeper: ['/data', '/datalog', '/logs'],
      rabbitmq: ['/var/lib/rabbitmq', '/var/log/rabbitmq'],
    };
    for (const name of names) {
      const { image = '', volumes, tmpfs } = of(name);
      const mounted = [...volumes.map((volume) => volume.split(':')[1]), ...tmpfs];
      const needed = ofImages[image.replace(/:.*/, '')] ?? [];
      expect(mounted, name).toEqual(expect.arrayContaining(needed));
    }
  });

  test('stops its service and nginx later than they drain', () => {
    const graceSeconds = (name: string) => Number(/^(\d+)s$/.exec(of(name).stop_grace_period)?.[1]);
    for (const name of ours)
      expect(graceSeconds(name) * 1_000).toBeGreaterThan(
        readConfig(environment(name)).DRAIN_MS + 5_000,
      );
    const template = read('nginx/lockstep.conf.template');
    const answerSeconds = Number(/proxy_read_timeout (\d+)s/.exec(template)?.[1]);
    expect(graceSeconds('nginx')).toBeGreaterThan(answerSeconds);
  });

  describe.each(['api', 'workers'])('the service %s', (name) => {
    test('has only names that the service knows and values that it accepts', () => {
      const known = [
        'NODE_ENV',
        ...configNames,
        ...secretNames.map((secretName) => `${secretName}_FILE`),
      ];
      expect(known).toEqual(expect.arrayContaining(Object.keys(environment(name))));
      expect(() => readConfig(environment(name))).not.toThrow();
    });

    test('is named by its host, so that every replica has a name of its own', () => {
      expect(environment(name)['NAME']).toBe('');
    });

    test('has its password in a file, and not in its environment', () => {
      expect(new URL(environment(name)['MYSQL_URL'] ?? '').password).toBe('');
      const { username, password } = new URL(readConfig(environment(name)).MYSQL_URL);
      expect(password).toBe(username); // As the lab's secrets are.
      expect(username).toBe(name === 'api' ? 'lockstep-api' : environment('mysql')['MYSQL_USER']);
      expect(environment('mysql')).not.toHaveProperty('MYSQL_PASSWORD');
    });

    test(`allows ${shape === 'lab' ? 'every rung' : 'the final rung only'}`, () => {
      const { ALLOWED_RUNGS, LAB } = readConfig(environment(name));
      expect(LAB).toBe(shape === 'lab');
      expect(allowedRungs(ALLOWED_RUNGS)).toEqual(shape === 'lab' ? rungNames : ['lua-stream']);
    });

    test('connects to servers that there are, and waits for those that it needs to start', () => {
      const { MYSQL_URL, REDIS_URL, REDLOCK_URLS, ZOOKEEPER_URL, RABBITMQ_URL } = readConfig(
        environment(name),
      );
      const needed = [MYSQL_URL, REDIS_URL].map((url) => new URL(url).hostname);
      expect(Object.keys(of(name).depends_on)).toEqual(expect.arrayContaining(needed));
      const masters = REDLOCK_URLS.map((url) => new URL(url).hostname);
      expect(names).toEqual(expect.arrayContaining(masters));
      expect(new Set(masters).size).toBe(shape === 'lab' ? 3 : 0);
      if (shape === 'lab') expect(names).toContain(ZOOKEEPER_URL.split(':')[0]);
      if (shape === 'lab') expect(names).toContain(new URL(RABBITMQ_URL).hostname);
      if (shape !== 'lab') expect(RABBITMQ_URL).toBe('');
    });
  });

  describe('nginx', () => {
    /** Without its comments. */
    const template = read('nginx/lockstep.conf.template').replaceAll(/#.*$/gm, '');
    const inTemplate = [...template.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);

    test('asks for the addresses of the replicas again and again, at the port they listen on', () => {
      const upstream = environment('nginx')['UPSTREAM_SERVERS'] ?? '';
      expect(upstream).toMatch(/^resolver 127\.0\.0\.11 valid=\d+s ipv6=off; /);
      expect(upstream).toContain(`server api:${environment('api')['PORT']} resolve `);
    });

    test('fills in every name of its template, and leaves nginx’s own variables alone', () => {
      expect(inTemplate.length).toBeGreaterThan(0);
      const filter = new RegExp(environment('nginx')['NGINX_ENVSUBST_FILTER'] ?? 'no filter');
      for (const name of inTemplate) expect(environment('nginx')).toHaveProperty(name);
      for (const name of inTemplate) expect(name).toMatch(filter);
      for (const [, variable] of template.matchAll(/\$([a-z_]+)/g))
        expect(variable).not.toMatch(filter);
    });

    test('never sends a purchase twice', () => {
      expect(template).toContain('proxy_next_upstream ');
      expect(template).not.toContain('non_idempotent');
    });
  });
});

describe('the secrets', () => {
  test('of a deployment have no default', () => {
    expect(read('docker-compose.yml')).toMatch(/^ {2}TOKEN_SECRET: \$\{TOKEN_SECRET:\?/m);
    expect(read('docker-compose.yml')).not.toContain(labTokenSecret);
    expect(read('.gitignore').split('\n')).toEqual(expect.arrayContaining(['secrets/', '.env']));
  });

  test('of the lab are those of k6 and of the command line', () => {
    expect(labVariables['TOKEN_SECRET']).toBe(labTokenSecret);
    expect(read('k6/lib/settings.js')).toContain(`'${labTokenSecret}'`);
    const ofK6 = shapes.lab.services['k6']?.environment['TOKEN_SECRET'] ?? '';
    expect(filled(ofK6, labVariables)).toBe(labTokenSecret);
    expect(labVariables['MYSQL_PASSWORD_FILE']).toBe('./containers/lab-mysql-password');
    const { username, password } = new URL(read('containers/lab-redis-url').trim());
    expect(read('containers/lab-redis-users')).toContain(`\nuser ${username} on >${password} `);
  });
});

describe('k6', () => {
  test('has the version of set-up', () => {
    const [, version] = /k6Version = 'v([\d.]+)'/.exec(read('scripts/k6-version.mjs')) ?? [];
    expect(shapes.lab.services['k6']?.image).toBe(`grafana/k6:${version}`);
  });

  test('gets every setting that its scripts read', () => {
    const files = readdirSync('k6', { recursive: true, encoding: 'utf8' });
    const scripts = files.filter((file) => file.endsWith('.js')).map((file) => read(`k6/${file}`));
    const pattern = /(?:__ENV\.|(?:number|positive|setting)\(\s*')([A-Z0-9_]+)/g;
    const names = scripts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name));
    expect(names).toContain('WORK_MS');
    expect(Object.keys(shapes.lab.services['k6']?.environment ?? {})).toEqual(
      expect.arrayContaining(names),
    );
  });
});

describe('the image', () => {
  const dockerfile = read('Dockerfile');

  test('has a Node that is supported, also by this project', () => {
    const majors = [...dockerfile.matchAll(/^FROM node:(\d+)-/gm)].map(([, major]) => major);
    expect(majors).toEqual(['26', '26']);
  });

  test('keeps no cache of npm, and runs without rights', () => {
    const last = dockerfile.split(/^FROM /m).at(-1);
    expect(last).toMatch(/npm ci --omit=dev .*--cache (\S+) && rm -rf \1/);
    expect(last).toContain('USER node');
  });

  test('compiles without the page, whose build needs more than the image gets', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...dockerfile.matchAll(/^RUN npm run (\S+)/gm)].map(([, name = '']) => name);
    expect(named.filter((name) => scripts[name]?.includes('scripts/'))).toEqual([]);
    expect(dockerfile).toMatch(/^RUN npx tsc$/m);
  });

  test('gets the files that it is made of, and no others', () => {
    const [first, ...allowed] = read('Dockerfile.dockerignore').trim().split('\n');
    expect(first).toBe('*');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
      ([, paths = '']) => paths.split(' '),
    );
    expect(allowed.toSorted()).toEqual([...new Set(copied)].map((path) => `!${path}`).toSorted());
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
