/**
 * Several processes that want one lock at the same time, and what they say of their critical
 * sections.
 */
import { once } from 'node:events';
import { execa, type Options } from 'execa';
import { ownLab } from './own-lab.ts';

/** By the clock that all processes of the machine share, in nanoseconds. */
export interface Section {
  readonly process: number;
  /** By its rung; a process that contends for one lock need not name it. */
  readonly lock: string;
  readonly asked: bigint;
  readonly start: bigint;
  readonly end: bigint;
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

/** A contender in Node for all of these resources at once, each with the lock of a rung. */
export const contender = (resources: Readonly<Record<string, string>>, times: number): Command => ({
  file: 'node',
  args: [
    new URL('lock-contender.mjs', import.meta.url).pathname,
    ...[JSON.stringify(resources), String(times)],
  ],
});

/**
 * Starts them all, waits until each has said `ready`, lets them go at once; their sections in
 * order.
 */
export async function contend(
  commands: readonly Command[],
  changes: Readonly<Record<string, string>> = {},
): Promise<Section[]> {
  const options = { env: { ...ownLab.environment, ...changes } } satisfies Options;
  const processes = commands.map(({ file, args }) => execa(file, args, options));
  await Promise.all(processes.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of processes) stdin.end('go\n');
  const outputs = await Promise.all(processes);
  const sections = outputs.flatMap(({ stdout }, process) =>
    [...stdout.matchAll(/^(?:(\S+) )?(\d+) (\d+) (\d+)$/gm)].map(
      ([, lock = '', asked = '', start = '', end = '']) => ({
        ...{ process, lock, asked: BigInt(asked), start: BigInt(start), end: BigInt(end) },
      }),
    ),
  );
  return sections.sort((one, other) => (one.start < other.start ? -1 : 1));
}

/**
 * Whether one was in before another was out.
 * @throws when nobody wanted in while another was inside: then nothing is proven.
 */
export function overlap(sections: readonly Section[]): boolean {
  const met = sections.some(({ process, start, end }) =>
    sections.some((other) => other.process !== process && other.asked < end && other.start > start),
  );
  if (!met) throw new Error('the processes never met');
  let latest = 0n;
  return sections.some(({ start, end }) => {
    const isInside = start < latest;
    if (end > latest) latest = end;
    return isInside;
  });
}
