/** The last lines of a measured table: its command, its time, the machine, the versions. */
import { timeStamp } from './folder.ts';
import { describeMachine, type Machine } from './machine.ts';
import { wrap } from './wrap.ts';

export interface MeasuredRun {
  readonly command: string;
  readonly time: string;
  readonly machine: Machine;
}

export const describeRun = async (command: string): Promise<MeasuredRun> => ({
  ...{ command, time: timeStamp() },
  machine: await describeMachine(),
});

export const runText = ({ command, time, machine }: MeasuredRun): string =>
  [command, time, ...Object.values(machine)].map((line) => wrap(line)).join('\n');
