/** The service as processes of its own, with a log that a test reads. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { processRef } from '../../src/lab/environment/process-table.ts';
import { stopProcess } from '../../src/lab/environment/processes.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { saleKeys } from '../../src/service/connections/sale-keys.ts';
import { someFolder } from './basics.ts';
import { clientOf, deploymentSecret } from './client.ts';
import { ownLab } from './own-lab.ts';
import { ownPorts } from './servers.ts';

type Settings = Readonly<Record<string, string>>;

export const serviceEntry = new URL('../../dist/service/bin/service.js', import.meta.url).pathname;

export interface Line {
  readonly event: string;
  readonly child?: string;
  readonly code?: number | string;
  readonly quietMs?: number;
  readonly pid?: number;
  readonly doesRedisAnswer?: boolean;
  readonly doesMysqlAnswer?: boolean;
  readonly isMysqlFull?: boolean;
  readonly open?: readonly string[];
}

export interface ServiceProcess {
  /** Of its first instance. */
  readonly port: number;
  readonly baseUrl: string;
  /** Of its primary. */
  readonly pid: number;
  log(): string;
  /** The lines of its log with this event. */
  events(event: string): Line[];
  isReady(): Promise<boolean>;
  /** @throws with its log, when it is not ready in time, or has ended. */
  ready(): Promise<void>;
  hasEnded(): boolean;
  /** Whether its container would be: the order workers only. */
  isHealthy(): Promise<boolean>;
  /** Sends SIGTERM. @returns the exit code; null when the process had to be killed. */
  stop(): Promise<number | null>;
}

/**
 * Starts one instance and one order worker with these settings, on stores of Redis that sync every
 * second, as the lab's quiet one does. Stopped with the test.
 */
export async function launchService(
  settings: Settings,
  entry = serviceEntry,
): Promise<ServiceProcess> {
  await nameShards(settings);
  const folder = someFolder();
  const port = Number(settings['PORT'] ?? (await ownPorts(19_900)));
  const env = {
    PATH: process.env['PATH'],
    MYSQL_URL: ownLab.environment['MYSQL_URL'] ?? '',
    ...{ PORT: String(port), INSTANCES: '1', ORDER_WORKERS: '1', HEARTBEAT_FOLDER: folder },
    ...{ ORDER_DURABILITY: 'everysec', RECONCILE_EVERY_MS: '0', TOKEN_SECRET: deploymentSecret },
    ...settings,
  };
  const logFile = join(folder, 'service.log');
  const out = openSync(logFile, 'a');
  const child = spawn(process.execPath, [entry], {
    ...{ env, detached: true, stdio: ['ignore', out, out] },
  });
  closeSync(out);
  const ref = processRef(child.pid ?? 0);
  if (!ref) throw new Error('the service did not start');
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const stop = async () => {
    await stopProcess(ref);
    return (await ended)[0];
  };
  onTestFinished(async () => void (await stop()));
  const baseUrl = `http://127.0.0.1:${port}`;
  const log = () => readFileSync(logFile, 'utf8');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const isReady = async () => (await fetch(`${baseUrl}/readyz`).catch(() => null))?.ok === true;
  return {
    ...{ port, baseUrl, pid: ref.pid, log, hasEnded, isReady, stop },
    events: (event) => linesOf(log()).filter((line) => line.event === event),
    ready: async () => {
      const isOver = async () => hasEnded() || (await isReady());
      await waitUntil('the service to be ready', 20_000, isOver).catch(() => {});
      if (!(await isReady())) throw new Error(`The service is not ready. Its log:\n${log()}`);
    },
    isHealthy: async () => {
      const workers = { ...env, INSTANCES: '0' };
      const check = await execa('containers/healthy.sh', { env: workers, reject: false });
      return check.exitCode === 0;
    },
  };
}

export const linesOf = (log: string): Line[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);

/** The number of shards of a Redis that tests share: they fill it with different ones. */
async function nameShards({
  REDIS_URL,
  REDIS_CLUSTER,
  SALE_SHARDS = '1',
}: Settings): Promise<void> {
  const [first] = saleKeys(1).shards;
  if (REDIS_URL === undefined || REDIS_CLUSTER === '1' || !first) return;
  const redis = new Redis(REDIS_URL, { lazyConnect: true });
  redis.on('error', () => {}); // The command has it.
  await redis
    .connect()
    .then(() => redis.set(first.shardCount, SALE_SHARDS))
    .catch(() => {}); // The test is about a service without it.
  redis.disconnect();
}

/** It is ready. */
export async function startService(entry: string, settings: Settings): Promise<ServiceProcess> {
  const service = await launchService(settings, entry);
  await service.ready();
  return service;
}

/** One order worker and no instance, which soon find that they make no progress. */
export const startLoggedService = (settings: Settings): Promise<ServiceProcess> =>
  launchService({
    ...{ PROGRESS_WITHIN_MS: '2000', CLAIM_IDLE_MS: '1000', INSTANCES: '0' },
    ...settings,
  });

/** A service that is ready, and those who use it. */
export async function deploy(settings: Settings, entry = serviceEntry) {
  const service = await startService(entry, settings);
  return { ...service, ...clientOf(service.baseUrl, settings['TOKEN_SECRET']) };
}

const program = new URL('first-command.mjs', import.meta.url).pathname;

/**
 * Settings of a service whose first client of a role meets trouble with its first command.
 * @param commands separated by commas; first-command.mjs says what happens to them.
 */
export const firstOf = (role: string, commands: string, does: 'hangs' | 'refuses') => ({
  NODE_OPTIONS: `--import ${program}`,
  ...{ FIRST_ROLE: role, FIRST_COMMANDS: commands, FIRST_DOES: does },
  FIRST_MARK: join(someFolder(), 'first'),
});
