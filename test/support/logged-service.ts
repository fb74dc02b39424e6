/** The service as processes of its own, with a log that a test reads. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { onTestFinished } from 'vitest';
import { startProcess, stopProcess } from '../../src/lab/environment/processes.ts';
import { deploymentSecret } from './client.ts';
import { someFolder } from './folder.ts';
import { nameShards } from './name-shards.ts';
import { ownLab } from './own-lab.ts';
import { ownPorts } from './own-ports.ts';

const entry = new URL('../../dist/bin/service.js', import.meta.url).pathname;

export interface Line {
  readonly event: string;
  readonly child?: string;
  readonly code?: number | string;
  readonly quietMs?: number;
  readonly pid?: number;
  readonly doesRedisAnswer?: boolean;
  readonly doesMysqlAnswer?: boolean;
  readonly isMysqlFull?: boolean;
}

export interface LoggedService {
  /** Of its first instance. */
  readonly port: number;
  /** Of its primary. */
  readonly pid: number;
  /** The lines of its log with this event. */
  events(event: string): Line[];
  /** Whether its container would be: the order workers only. */
  isHealthy(): Promise<boolean>;
}

/** Starts one order worker and no instance, with these settings. */
export async function startLoggedService(
  settings: Readonly<Record<string, string>>,
): Promise<LoggedService> {
  await nameShards(settings);
  const folder = someFolder();
  const logFile = join(folder, 'service.log');
  const port = await ownPorts(19_930);
  const env = {
    MYSQL_URL: ownLab.environment['MYSQL_URL'] ?? '',
    TOKEN_SECRET: deploymentSecret,
    PROGRESS_WITHIN_MS: '2000',
    CLAIM_IDLE_MS: '1000',
    PORT: String(port),
    INSTANCES: '0',
    ORDER_WORKERS: '1',
    ORDER_DURABILITY: 'everysec',
    HEARTBEAT_FOLDER: folder,
    RECONCILE_EVERY_MS: '0',
    ...settings,
  };
  const service = startProcess({ command: process.execPath, args: [entry], env, logFile });
  onTestFinished(() => stopProcess(service));
  const log = (): Line[] =>
    (existsSync(logFile) ? readFileSync(logFile, 'utf8') : '')
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as Line);
  const events = (event: string) => log().filter((line) => line.event === event);
  const isHealthy = async () => {
    const workers = { ...env, INSTANCES: '0' };
    const check = await execa('containers/healthy.sh', { env: workers, reject: false });
    return check.exitCode === 0;
  };
  return { port, pid: service.pid, events, isHealthy };
}
