/** docker-compose.yml: every name in it exists, and the service accepts its settings. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configNames, readConfig } from '../../src/config.ts';
import { allowedRungs, rungNames } from '../../src/ladder/rungs.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const Service = z.object({
  build: z.string().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).min(2) }).optional(),
  ports: z.array(z.string()).default([]),
});
const { services } = z
  .object({ services: z.record(z.string(), Service) })
  .parse(parse(read('docker-compose.yml'), { merge: true }));

/** A value as compose fills it in without an environment. */
const filled = (value: string) => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$');
const environment = (name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [key, filled(value)]),
  );

const ours = Object.keys(services).filter((name) => services[name]?.build !== undefined);
const apis = ours.filter((name) => name.startsWith('api-'));

describe('docker-compose.yml', () => {
  test('has four API instances, a service of workers, and nginx in front', () => {
    expect(apis).toHaveLength(4);
    expect(ours).toHaveLength(5);
    expect(services).toHaveProperty('nginx');
  });

  test('waits only for services that exist and have a health check', () => {
    const waits = Object.entries(services).flatMap(([name, { depends_on }]) =>
      Object.entries(depends_on).map(([other, { condition }]) => ({ name, other, condition })),
    );
    expect(waits.length).toBeGreaterThan(10);
    for (const { name, other, condition } of waits) {
      expect(condition, `${name} waits for ${other}`).toBe('service_healthy');
      expect(services[other]?.healthcheck, `${name} waits for ${other}`).toBeDefined();
    }
  });

  test('publishes ports to this machine only', () => {
    const ports = Object.values(services).flatMap((service) => service.ports);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });
});

describe.each(ours)('the service %s', (name) => {
  test('has only names that the service knows and values that it accepts', () => {
    expect(configNames).toEqual(expect.arrayContaining(Object.keys(environment(name))));
    expect(() => readConfig(environment(name))).not.toThrow();
  });

  test('allows every rung of the ladder by default, also a new one', () => {
    const { ALLOWED_RUNGS } = readConfig(environment(name));
    expect(ALLOWED_RUNGS).toEqual(['all']);
    expect(allowedRungs(ALLOWED_RUNGS)).toEqual(rungNames);
  });

  test('connects to servers of the topology, and waits for those that it needs to start', () => {
    const { MYSQL_URL, REDIS_URL, REDLOCK_URLS } = readConfig(environment(name));
    const needed = [MYSQL_URL, REDIS_URL].map((url) => new URL(url).hostname);
    expect(Object.keys(services[name]?.depends_on ?? {})).toEqual(expect.arrayContaining(needed));
    const masters = REDLOCK_URLS.map((url) => new URL(url).hostname);
    expect(Object.keys(services)).toEqual(expect.arrayContaining(masters));
    expect(new Set(masters).size).toBe(3);
    const [zookeeper = ''] = readConfig(environment(name)).ZOOKEEPER_URL.split(':');
    expect(Object.keys(services)).toContain(zookeeper);
  });

  test('has a name that no other service has', () => {
    const names = ours.map((other) => environment(other)['NAME']);
    expect(names.filter((other) => other === environment(name)['NAME'])).toHaveLength(1);
  });
});

describe('the roles', () => {
  test('are divided: API instances only sell, and the worker service only records', () => {
    for (const name of apis)
      expect(readConfig(environment(name))).toMatchObject({ INSTANCES: 1, ORDER_WORKERS: 0 });
    const workers = ours
      .filter((name) => !apis.includes(name))
      .map((name) => readConfig(environment(name)));
    expect(workers).toEqual([expect.objectContaining({ INSTANCES: 0, ORDER_WORKERS: 2 })]);
  });

  test('share one secret with k6, which signs the tokens', () => {
    const secrets = [...ours, 'k6'].map((name) => environment(name)['TOKEN_SECRET']);
    expect(new Set(secrets).size).toBe(1);
    expect(read('k6/lib/settings.js')).toContain(`'${secrets[0]}'`);
  });
});

describe('nginx', () => {
  /** Without its comments. */
  const template = read('nginx/lockstep.conf.template').replaceAll(/#.*$/gm, '');
  const names = [...new Set([...template.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? ''))];

  test('shares the requests out to the four instances, at the ports that they listen on', () => {
    const upstream = environment('nginx')['UPSTREAM_SERVERS'] ?? '';
    const targets = [...upstream.matchAll(/server (\S+)/g)].map(([, server]) => server);
    expect(targets).toEqual(apis.map((name) => `${name}:${environment(name)['PORT']}`));
  });

  test('fills in every name of its template, and leaves nginx’s own variables alone', () => {
    expect(names.length).toBeGreaterThan(0);
    const filter = new RegExp(environment('nginx')['NGINX_ENVSUBST_FILTER'] ?? 'no filter');
    for (const name of names) expect(environment('nginx')).toHaveProperty(name);
    for (const name of names) expect(name).toMatch(filter);
    for (const [, variable] of template.matchAll(/\$([a-z_]+)/g))
      expect(variable).not.toMatch(filter);
  });

  test('never sends a purchase twice', () => {
    expect(template).toContain('proxy_next_upstream ');
    expect(template).not.toContain('non_idempotent');
  });
});

test('k6 has the version of set-up', () => {
  const [, version] = /k6Version = 'v([\d.]+)'/.exec(read('scripts/k6-version.mjs')) ?? [];
  expect(read('docker-compose.yml')).toContain(`image: grafana/k6:${version}\n`);
});
