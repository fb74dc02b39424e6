/** Locks of the ladder by the names of rungs that have them, here and in several processes. */

import { once } from 'node:events';
import { execa, type Options } from 'execa';
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import type { Connections } from '../../src/service/connections/connections.ts';
import { type RungName, rungNamed } from '../../src/service/ladder/rungs.ts';
import type { AcquireOptions, Lease, Lock } from '../../src/service/locks/lock.ts';
import { testConnections } from './connections.ts';
import { ownLab } from './own-lab.ts';

export function ladderLock(rung: RungName, connections: Connections): Lock {
  const { lock } = rungNamed(rung);
  if (!lock) throw new Error(`${rung} has no lock`);
  return lock(connections);
}

export interface OpenLock {
  readonly lock: Lock;
  readonly connections: Connections;
}

/** On connections of its own, as in a process of its own; closed when the test is over. */
export async function openLock(
  rung: RungName,
  changes: Readonly<Record<string, string>> = {},
): Promise<OpenLock> {
  const connections = testConnections(changes);
  const lock = ladderLock(rung, connections);
  await connections.ready();
  return { lock, connections };
}

export function releasedLater(lease: Lease): Lease {
  onTestFinished(() => lease.release().catch(() => {}));
  return lease;
}

/** Released when the test is over. An assertion fails when it is not free in time. */
export async function held(
  lock: Lock,
  resource: string,
  options: Partial<AcquireOptions> = {},
): Promise<Lease> {
  const lease = await lock.acquire(resource, { waitMs: 20_000, ...options });
  expect(lease, `the lock on ${resource}, in time`).not.toBeNull();
  return releasedLater(lease as Lease);
}

/** Not by the clock of the one who waits, at its end. */
export async function expectSoon(waiting: Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await waiting;
  expect(performance.now() - startedAt).toBeLessThan(10_000);
}

/** As another owner has it. Redis says nothing to those who wait. */
export async function giveToSomebody(redis: Redis, key: string): Promise<void> {
  await redis.multi().del(key).hset(key, 'somebody', 1).pexpire(key, 60_000).exec();
}

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
    new URL('lock-process.mjs', import.meta.url).pathname,
    ...[JSON.stringify(resources), 'enter', String(times)],
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
