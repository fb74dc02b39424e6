/**
 * A worker of the final rung works in one epoch at a time. When Redis is rebuilt, its run ends, and
 * what it has in hand is not recorded: MySQL refuses it. The next run begins when Redis and MySQL
 * have the same epoch again.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Connections, readEpoch } from '../connections/connections.ts';
import { epochsOf } from '../connections/epoch.ts';
import { isServiceError } from '../errors.ts';

const lookEveryMs = 500;

/** Resolves when `until` aborts, or when there is nothing more to do. */
type Work = (epoch: string, until: AbortSignal) => Promise<void>;

/**
 * Called at each look for an epoch: whether there is none to work in, although the stores answer.
 * The rebuild must end first, and a new process would wait for it too.
 */
export type OnWait = (isWaiting: boolean) => void;

/** One run for each epoch, until `signal` aborts. A process that knows no epoch has one run. */
export async function inEachEpoch(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
  work: Work,
  onWait: OnWait = () => {},
): Promise<void> {
  if (connections.epoch.value === '') return work('', signal);
  while (!signal.aborted) {
    const epoch = await agreedEpoch(connections, log, signal, onWait);
    if (epoch === undefined) return;
    connections.epoch.set(epoch);
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    void lookForEnd(connections, epoch, until, () => over.abort());
    await work(epoch, until).finally(() => over.abort());
    if (!signal.aborted) log.warn({ event: 'epoch-over', epoch });
  }
}

/** Undefined when `signal` aborted first. */
async function agreedEpoch(
  connections: Connections,
  log: Logger,
  signal: AbortSignal,
  onWait: OnWait,
): Promise<string | undefined> {
  let said = '';
  while (!signal.aborted) {
    const epochs = await epochsOf(connections).catch((error: Error) => error);
    const isError = epochs instanceof Error;
    const agreed = !isError && isAgreed(epochs) ? epochs.ofMysql : undefined;
    onWait(agreed === undefined && (!isError || isServiceError(epochs, 'EPOCHS_DIFFER')));
    if (agreed !== undefined) return agreed;
    const why = isError ? String(epochs) : 'Redis is being rebuilt, or has no epoch.';
    if (why !== said) log.warn({ event: 'waiting-for-epoch', why });
    said = why;
    await pause(signal);
  }
  return undefined;
}

const isAgreed = ({ ofMysql, ofRedis, isRebuilding }: Awaited<ReturnType<typeof epochsOf>>) =>
  !isRebuilding && ofRedis === ofMysql;

/** Ends the run, also of a worker that has no orders in hand and so is not refused. */
async function lookForEnd(
  connections: Connections,
  epoch: string,
  until: AbortSignal,
  end: () => void,
): Promise<void> {
  while (!until.aborted) {
    await pause(until);
    const now = await readEpoch(connections.mysql()).catch(() => epoch); // MySQL is away.
    if (now !== epoch) end();
  }
}

const pause = (signal: AbortSignal): Promise<void> =>
  sleep(lookEveryMs, undefined, { signal }).catch(() => {});
