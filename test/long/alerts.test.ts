/**
 * The alerts of a deployment, in a real Prometheus that asks a real service: each fires when what
 * it is about happens, and not before.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import type { Connections } from '../../src/service/connections/connections.ts';
import { change, transaction } from '../../src/service/connections/mysql.ts';
import { someFolder } from '../support/basics.ts';
import { openProcess, ownStores } from '../support/own-stores.ts';
import { ownPorts } from '../support/servers.ts';
import { deploy } from '../support/service-process.ts';

const rules = new URL('../../containers/monitoring/alerts.yml', import.meta.url).pathname;
const ruleTests = rules.replace('alerts.yml', 'alerts.test.yml');
const fireWithinMs = 90_000;

interface Deployment {
  readonly connections: Connections;
  readonly voucherId: string;
  /** The names of the alerts that fire. */
  firing(): Promise<string[]>;
  buy(user: number): Promise<number>;
  /** As an operator. @returns the status */
  pause(): Promise<number>;
  /** The process of its order worker. */
  readonly worker: number;
}

async function startPrometheus(targets: readonly string[]): Promise<() => Promise<string[]>> {
  const folder = someFolder();
  const port = await ownPorts(19_970);
  // The test of the rules has how long each alert waits before it fires.
  const impatient = readFileSync(rules, 'utf8').replaceAll(/for: \d+s/g, 'for: 3s');
  writeFileSync(join(folder, 'alerts.yml'), impatient);
  const jobs = [{ job_name: 'lockstep', static_configs: [{ targets }] }];
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    ...{ rule_files: ['alerts.yml'], scrape_configs: jobs },
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config)); // JSON is YAML.
  const own = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${folder}/data`,
  ];
  const prometheus = spawn('prometheus', [...own, `--web.listen-address=127.0.0.1:${port}`], {
    stdio: 'ignore',
  });
  onTestFinished(async () => {
    prometheus.kill('SIGTERM');
    if (prometheus.exitCode === null) await once(prometheus, 'exit');
  });
  const api = `http://127.0.0.1:${port}/api/v1`;
  return async () => {
    const read = await (await fetch(`${api}/query?query=lockstep_process_restarts_total`)).text();
    if (!read.includes('order-worker')) throw new Error('nothing was read of the primary yet');
    const answer = (await (await fetch(`${api}/alerts`)).json()) as {
      data: { alerts: { state: string; labels: { alertname: string } }[] };
    };
    const fires = answer.data.alerts.filter(({ state }) => state === 'firing');
    return [...new Set(fires.map(({ labels }) => labels.alertname))].sort();
  };
}

async function monitored(settings: Readonly<Record<string, string>> = {}): Promise<Deployment> {
  const stores = await ownStores();
  const connections = await openProcess(stores);
  const primary = await ownPorts(19_960, 4);
  const { pid, onSale, buy, operate } = await deploy({
    ...stores,
    ...{ METRICS_PORT: String(primary), RECONCILE_EVERY_MS: '500' },
    ...{ PROGRESS_WITHIN_MS: '2000', CLAIM_IDLE_MS: '1000' },
    ...settings,
  });
  const voucherId = await onSale({ stock: 100 });
  const firing = await startPrometheus([0, 1, 2, 3].map((child) => `127.0.0.1:${primary + child}`));
  const buyAs = async (user: number) => (await buy(voucherId, user)).httpStatus;
  for (let user = 1; user <= 20; user++) expect(await buyAs(user)).toBe(202);
  await waitUntil('nothing to fire', 30_000, async () =>
    firing().then(
      (names) => names.length === 0,
      () => false, // Prometheus starts.
    ),
  );
  const pause = async () =>
    (await operate('PATCH', `/vouchers/${voucherId}`, { paused: true })).status;
  return { connections, voucherId, firing, buy: buyAs, pause, worker: workerOf(pid) };
}

/** Never pid 0: a signal to it is one to everybody in this process's group. */
function workerOf(primary: number): number {
  const children = readFileSync(`/proc/${primary}/task/${primary}/children`, 'utf8').trim();
  const isWorker = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('order-worker');
  const worker = Number(children.split(' ').find(isWorker));
  if (!(worker > 1)) throw new Error('there is no order worker');
  return worker;
}

test('the rules of the alerts say what they must, and when', async () => {
  const { stdout } = await execa('promtool', ['test', 'rules', ruleTests]);
  expect(stdout).toContain('SUCCESS');
});

const untilFires = ({ firing }: Deployment, name: string) =>
  waitUntil(`${name} to fire`, fireWithinMs, async () => (await firing()).includes(name));
const untilSilent = ({ firing }: Deployment, name: string) =>
  waitUntil(`${name} to be over`, fireWithinMs, async () => !(await firing()).includes(name));

describe('an alert', () => {
  test('says within a minute that MySQL has lost orders, and nothing else', async () => {
    const deployment = await monitored();
    const { connections, voucherId } = deployment;
    await change(connections.mysql(), 'DELETE FROM orders WHERE voucher_id = ?', [voucherId]);
    await untilFires(deployment, 'LockstepStoresDiffer');
    expect(await deployment.firing()).toEqual(['LockstepStoresDiffer']);
  }, 240_000);

  test('says that accepted orders wait, and is silent once they are recorded', async () => {
    const deployment = await monitored();
    const { connections, voucherId } = deployment;
    const lock = 'SELECT stock FROM seckill_stock WHERE voucher_id = ? FOR UPDATE';
    await transaction(connections.mysql(), 'READ COMMITTED', async (db) => {
      await db.execute(lock, [voucherId]);
      expect(await deployment.buy(50)).toBe(202);
      await untilFires(deployment, 'LockstepOrdersWait');
    });
    await untilSilent(deployment, 'LockstepOrdersWait');
  }, 400_000);

  test('says that an order could not be recorded', async () => {
    const deployment = await monitored();
    const { connections } = deployment;
    const { orders } = connections.saleKeys.of('1');
    await connections.redis('admin').xadd(orders, '*', 'orderId', 'no number');
    await untilFires(deployment, 'LockstepDeadLetters');
    expect(await deployment.firing()).toEqual(['LockstepDeadLetters']);
  }, 240_000);

  test('says that a process stands still, and is silent once it runs again', async () => {
    // Its primary would kill it sooner.
    const deployment = await monitored({ PROGRESS_WITHIN_MS: '600000' });
    process.kill(deployment.worker, 'SIGSTOP');
    await untilFires(deployment, 'LockstepProcessDown').finally(() =>
      process.kill(deployment.worker, 'SIGCONT'),
    );
    await untilSilent(deployment, 'LockstepProcessDown');
  }, 480_000);

  test('says that a process ended, although another one is there at once', async () => {
    const deployment = await monitored();
    process.kill(deployment.worker, 'SIGKILL');
    await untilFires(deployment, 'LockstepProcessRestarts');
    expect(await deployment.firing()).toEqual(['LockstepProcessRestarts']);
  }, 240_000);

  test('says that a change of an operator is not finished: Redis has lost the sale', async () => {
    const deployment = await monitored();
    const { connections, voucherId } = deployment;
    await connections.redis('admin').del(connections.saleKeys.of(voucherId).voucher(voucherId));
    expect(await deployment.pause()).toBe(503);
    await untilFires(deployment, 'LockstepChangeUnfinished');
    await untilFires(deployment, 'LockstepStoresDiffer'); // Either may be the first.
    expect(await deployment.firing()).toEqual(['LockstepChangeUnfinished', 'LockstepStoresDiffer']);
  }, 240_000);

  test('says that a store takes no writes, and is silent once it does', async () => {
    const deployment = await monitored();
    const { connections } = deployment;
    await change(connections.mysql(), 'RENAME TABLE store_epoch TO gone_epoch', []);
    await untilFires(deployment, 'LockstepStoreDown');
    await change(connections.mysql(), 'RENAME TABLE gone_epoch TO store_epoch', []);
    await untilSilent(deployment, 'LockstepStoreDown');
  }, 480_000);
});
