/** The last lines of a measured table: its command, its time, the machine, the versions. */
import { isBatchWork } from '../environment/processes.ts';
import { type Machine, machineLine } from './machine.ts';
import { wrap } from './wrap.ts';

export interface MeasuredRun {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  /** How the kernel schedules the servers of the lab. */
  readonly servers: string;
}

export const measuredRun = ({
  command,
  time,
  machine,
}: Omit<MeasuredRun, 'servers'>): MeasuredRun => ({
  ...{ command, time, machine },
  servers: isBatchWork() ? 'servers: batch work' : 'servers: NOT batch work (chrt is refused)',
});

export const runText = ({ command, time, machine, servers }: MeasuredRun): string =>
  [`${time}: ${command}`, `${machineLine(machine)}; ${servers}`]
    .map((line) => wrap(line))
    .join('\n');
