/** The bare processes that a purchase is compared with: as many as there are instances. */

import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { asBatchWork } from '../environment/processes.ts';
import { barePath, nodePath } from '../environment/servers/nginx.ts';
import { labError } from '../errors.ts';

const program = fileURLToPath(
  new URL('../../../dist/lab/benchmarks/bare-instance.js', import.meta.url),
);

/** Runs `work` while a bare process listens at each port or socket. @throws BARE_INSTANCE_ENDED */
export async function withBareService<T>(
  upstreams: readonly (number | string)[],
  work: (pids: readonly number[]) => Promise<T>,
): Promise<T> {
  const children: ChildProcess[] = [];
  try {
    for (const upstream of upstreams)
      children.push(fork(program, [String(upstream), barePath, nodePath], likeServers()));
    await Promise.all(children.map(listening));
    return await work(children.flatMap(({ pid }) => pid ?? []));
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** Scheduled as the servers of the lab: else a purchase would be compared with a dearer base. */
function likeServers(): ForkOptions {
  const [execPath = process.execPath, ...execArgv] = [...asBatchWork(), process.execPath];
  return { execPath, execArgv };
}

async function listening(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit').then(() => 'ended');
  const first = await Promise.race([once(child, 'message'), ended]);
  if (first === 'ended') throw labError('BARE_INSTANCE_ENDED', child.spawnargs.at(-3) ?? '');
}
