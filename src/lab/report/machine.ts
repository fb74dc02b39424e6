/** The machine and the versions that a result was measured with. */
import { cpus, release, totalmem } from 'node:os';
import { execa } from 'execa';
import { isBatchWork, programPath } from '../environment/processes.ts';
import type { Database } from '../environment/servers/database.ts';
import { mysqlVersion } from '../environment/servers/database.ts';
import { wrap } from './wrap.ts';

export type Machine = Readonly<Record<string, string>>;

async function ask(program: string, argument: string): Promise<string> {
  const { all } = await execa(programPath(program), [argument], { all: true, reject: false });
  return versionLine(all ?? '');
}

/** Without the lines of a log before it: MariaDB warns of a machine that has no network card. */
export const versionLine = (text: string): string =>
  text.split('\n').find((line) => !/^\d{4}-\d\d-\d\d /.test(line)) ?? '';

const versionOf: Readonly<Record<Database, () => Promise<string>>> = {
  mariadb: () => ask('mariadbd', '--version'),
  mysql: mysqlVersion,
};

export async function describeMachine(used: Database): Promise<Machine> {
  const [redis, database, nginx] = await Promise.all([
    ask('redis-server', '--version'),
    versionOf[used](),
    ask('nginx', '-v'),
  ]);
  return {
    cores: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release(),
    node: process.version,
    redis,
    database,
    nginx,
  };
}

/** `1.22.1` of `nginx version: nginx/1.22.1`: each program says its version in its own way. */
const numberIn = (text = ''): string => /\d+\.\d+\.\d+/.exec(text)?.[0] ?? text;

/** In one line, with the versions as numbers. */
export function machineLine(machine: Machine): string {
  const { cores, memory, kernel, node, redis, database, nginx } = machine;
  const name = database?.includes('MariaDB') ? 'MariaDB' : 'MySQL';
  const versions = [`Node ${numberIn(node)}`, `Redis ${numberIn(redis)}`];
  const others = [`${name} ${numberIn(database)}`, `nginx ${numberIn(nginx)}`];
  return [cores, memory, `Linux ${kernel}`, ...versions, ...others].join(', ');
}

export interface MeasuredRun {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  /** How the kernel schedules the servers of the lab. */
  readonly servers: string;
}

type Measured = Omit<MeasuredRun, 'servers'>;

export const measuredRun = ({ command, time, machine }: Measured): MeasuredRun => ({
  command,
  time,
  machine,
  servers: isBatchWork() ? 'servers: batch work' : 'servers: NOT batch work (chrt is refused)',
});

export const runText = ({ command, time, machine, servers }: MeasuredRun): string =>
  [`${time}: ${command}`, `${machineLine(machine)}; ${servers}`]
    .map((line) => wrap(line))
    .join('\n');
