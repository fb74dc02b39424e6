/** The machine and the versions that a result was measured with. */
import { cpus, release, totalmem } from 'node:os';
import { execa } from 'execa';
import { programPath } from '../environment/processes.ts';
import type { Database } from '../environment/servers/database.ts';
import { mysqlVersion } from '../environment/servers/mysql.ts';

export type Machine = Readonly<Record<string, string>>;

async function ask(program: string, argument: string): Promise<string> {
  const { all } = await execa(programPath(program), [argument], { all: true, reject: false });
  return (all ?? '').split('\n')[0] ?? '';
}

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
    ...{ redis, database, nginx },
  };
}
