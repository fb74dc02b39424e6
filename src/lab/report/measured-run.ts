/** The last lines of a measured table: its command, its time, the machine, the versions. */
import { isBatchWork } from '../environment/processes.ts';
import type { Database } from '../environment/servers/database.ts';
import { timeStamp } from './folder.ts';
import { describeMachine, type Machine } from './machine.ts';
import { wrap } from './wrap.ts';

export interface MeasuredRun {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
  /** How the kernel schedules the servers of the lab. */
  readonly servers: string;
}

export const describeRun = async (command: string, database: Database): Promise<MeasuredRun> => ({
  ...{ command, time: timeStamp() },
  machine: await describeMachine(database),
  servers: isBatchWork() ? 'servers: batch work' : 'servers: NOT batch work (chrt is refused)',
});

export const runText = ({ command, time, machine, servers }: MeasuredRun): string =>
  [command, time, ...Object.values(machine), servers].map((line) => wrap(line)).join('\n');
