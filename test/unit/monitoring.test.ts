/** The alerts, the dashboard and the docs name metrics that exist, and ask where they are. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/service/config.ts';
import { roles } from '../../src/service/processes/supervisor.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const folder = 'src/service/metrics';
const sources = [
  ...readdirSync(new URL(`../../${folder}`, import.meta.url)).map((file) => `${folder}/${file}`),
  'src/service/processes/observe-stores.ts',
];
const metrics = sources.flatMap((file) =>
  [...read(file).matchAll(/'(lockstep_\w+)'/g)].map(([, name = '']) => name),
);
const namesIn = (path: string): string[] => [
  ...new Set(
    [...read(path).matchAll(/lockstep_[a-z_]+/g)].map(([name]) =>
      name.replace(/_(bucket|sum|count)$/, ''),
    ),
  ),
];
const alertsFile = 'containers/monitoring/alerts.yml';
interface Rule {
  readonly alert: string;
  readonly annotations: Readonly<Record<string, string>>;
}
const alerts = (parse(read(alertsFile)) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);

test.each([alertsFile, 'containers/monitoring/dashboard.json', 'docs/deployment.md'])(
  '%s names only metrics that a process has',
  (path) => {
    const names = namesIn(path);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !metrics.includes(name))).toEqual([]);
  },
);

test('the docs name every metric, and every alert with what to do', () => {
  const docs = read('docs/deployment.md');
  const known = namesIn('docs/deployment.md');
  expect(metrics.filter((name) => !known.includes(name))).toEqual([]);
  for (const { alert, annotations } of alerts) {
    const row = docs.split('\n').find((line) => line.startsWith(`| \`${alert}\` | `));
    expect(row, alert).toContain(` | ${annotations['action']} | `);
    expect(row, alert).toMatch(/\]\([^)]+\) \|$/); // And where more about it stands.
  }
});

describe('an alert', () => {
  test.each(alerts)('$alert says what is wrong, and what to do', ({ annotations }) => {
    expect(Object.keys(annotations)).toEqual(['summary', 'action']);
  });
});

test('Prometheus asks every process that the containers have', () => {
  const { scrape_configs: jobs } = parse(read('containers/monitoring/prometheus.yml')) as {
    scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
  };
  const asked = jobs
    .flatMap(({ dns_sd_configs: configs }) => configs)
    .flatMap(({ names, port }) => names.map((name) => `${name}:${port}`));
  const compose = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment: Record<string, string> }>;
  };
  const has = ['api', 'workers'].flatMap((service) => {
    const { environment = {} } = compose.services[service] ?? {};
    const { INSTANCES, ORDER_WORKERS, METRICS_PORT = '' } = environment;
    const config = readConfig({
      ...{ MYSQL_URL: 'mysql://mysql', REDIS_URL: 'redis://redis', INSTANCES, ORDER_WORKERS },
      ...{ METRICS_PORT, TOKEN_SECRET: 'a secret that only this deployment knows' },
    });
    const children = roles(config).map(({ env }) => `${service}:${env['METRICS_PORT']}`);
    return [`${service}:${METRICS_PORT}`, ...children];
  });
  expect(asked).toEqual(has);
});
