/** The machine and the versions that a result was measured with. */
import { cpus, release, totalmem } from 'node:os';
import { execa } from 'execa';
import { programPath } from '../environment/processes.ts';

export type Machine = Readonly<Record<string, string>>;

export async function describeMachine(): Promise<Machine> {
  const ask = async (program: string, argument: string) => {
    const { all } = await execa(programPath(program), [argument], { all: true, reject: false });
    return (all ?? '').split('\n')[0] ?? '';
  };
  const [redis, mysql, nginx] = await Promise.all([
    ask('redis-server', '--version'),
    ask('mariadbd', '--version'),
    ask('nginx', '-v'),
  ]);
  return {
    cores: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release(),
    node: process.version,
    ...{ redis, mysql, nginx },
  };
}
