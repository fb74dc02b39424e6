/** Watches the consumers of an order worker: each must record orders, or have none to record. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Connections } from '../connections/connections.ts';
import { onNewConnections, recordsOrders } from '../connections/probes.ts';
import { type LockstepError, serviceError } from '../errors.ts';
import type { WorkerHooks } from '../orders/work-orders.ts';
import type { OrderQueue } from '../queues/order-queue.ts';
import { type Look, stuckFor } from './watch.ts';

export interface WatchOptions {
  readonly connections: Connections;
  readonly log: Logger;
  readonly openQueues: (connections: Connections) => OrderQueue[];
  /** Called when this consumer of this queue made progress. */
  readonly onProgress: (queue: number, consumer: number) => void;
}

interface Consumer {
  readonly queue: number;
  readonly number: number;
  readonly progress: ConsumerProgress;
  /** Milliseconds without progress. */
  quietMs: number;
  /** Of these, the milliseconds in which both stores were healthy; null while they are not. */
  stuckMs: number | null;
}

interface Stores {
  readonly doesRedisAnswer: boolean;
  readonly doesMysqlAnswer: boolean;
  readonly isMysqlFull: boolean;
}

/** For each queue and each of its consumers, see `OrderQueue.oldest`. */
type Oldest = readonly (readonly (string | null)[])[];

export class ConsumerWatch {
  readonly #watched: WatchOptions;
  readonly #consumers = new Map<string, Consumer>();
  /** The queues that nobody may consume: Redis is being rebuilt. */
  readonly #waiting = new Set<number>();
  readonly #fullMysql: FullMysql;

  constructor(watched: WatchOptions) {
    this.#watched = watched;
    const { CLAIM_IDLE_MS, PROGRESS_WITHIN_MS } = watched.connections.config;
    // An order is tried again when it is claimed.
    this.#fullMysql = new FullMysql(CLAIM_IDLE_MS + PROGRESS_WITHIN_MS);
  }

  /** What the consumers of this queue report. */
  hooks(queue: number): WorkerHooks {
    return {
      onWait: (isWaiting) =>
        void (isWaiting ? this.#waiting.add(queue) : this.#waiting.delete(queue)),
      onFull: () => this.#fullMysql.seen(performance.now()),
      onTurn: (number, entries) => this.#consumer(queue, number).progress.turned(entries),
      onSettled: (number, entries) => {
        if (entries > 0) this.#fullMysql.over();
        this.#consumer(queue, number).progress.settled(entries);
      },
    };
  }

  readonly look: Look = async (sinceMs) => {
    const { connections, log } = this.#watched;
    const oldest = await oldestEntries(this.#watched);
    for (const [queue, entries] of oldest?.entries() ?? [])
      for (const number of entries.keys()) this.#consumer(queue, number);
    const quiet = [...this.#consumers.values()].filter((each) => !this.#isMoving(each, oldest));
    if (quiet.length === 0) return null;
    const doesMysqlAnswer = await onNewConnections(connections.config, log, recordsOrders);
    const isMysqlFull = this.#fullMysql.isLasting(performance.now());
    const stores = { doesRedisAnswer: oldest !== null, doesMysqlAnswer, isMysqlFull };
    for (const each of quiet) this.#count(each, sinceMs, stores);
    return quiet.map((each) => this.#verdict(each)).find((problem) => problem !== null) ?? null;
  };

  #consumer(queue: number, number: number): Consumer {
    const name = `${queue} ${number}`;
    const known = this.#consumers.get(name);
    if (known) return known;
    const progress = new ConsumerProgress();
    const added: Consumer = { queue, number, progress, quietMs: 0, stuckMs: null };
    this.#consumers.set(name, added);
    return added;
  }

  #isMoving(consumer: Consumer, oldest: Oldest | null): boolean {
    const { queue, number, progress } = consumer;
    if (!progress.look(oldest?.[queue]?.[number])) return false;
    Object.assign(consumer, { quietMs: 0, stuckMs: null });
    this.#watched.onProgress(queue, number);
    return true;
  }

  #count(consumer: Consumer, sinceMs: number, stores: Stores): void {
    const { connections, log } = this.#watched;
    const hasEpoch = !this.#waiting.has(consumer.queue);
    const mayRecord = stores.doesMysqlAnswer && !stores.isMysqlFull;
    const mayWork = stores.doesRedisAnswer && mayRecord && hasEpoch;
    consumer.quietMs += sinceMs;
    consumer.stuckMs = stuckFor(consumer.stuckMs, sinceMs, mayWork);
    const { queue, number, quietMs } = consumer;
    const why = { ...stores, hasEpoch };
    if (quietMs >= connections.config.PROGRESS_WITHIN_MS)
      log.warn({ event: 'nothing-recorded', queue, consumer: number, quietMs, ...why });
  }

  /** A batch may take its limit, so a consumer with orders in hand is given that time too. */
  #verdict({ queue, number, progress, stuckMs }: Consumer): LockstepError | null {
    const { PROGRESS_WITHIN_MS, BATCH_LIMIT_MS } = this.#watched.connections.config;
    const limitMs = PROGRESS_WITHIN_MS + (progress.isBusy ? BATCH_LIMIT_MS : 0);
    if (stuckMs === null || stuckMs < limitMs) return null;
    return serviceError('NO_PROGRESS', `Consumer ${number} of queue ${queue}`, stuckMs);
  }
}

/** As new connections see it. Null when Redis does not answer. */
const oldestEntries = ({ connections, log, openQueues }: WatchOptions): Promise<Oldest | null> =>
  onNewConnections(connections.config, log, async (opened) => {
    const queues = openQueues(opened);
    await opened.ready();
    return Promise.all(queues.map((queue) => queue.oldest?.() ?? []));
  }).catch(() => null);

/**
 * One file for each consumer, written whenever it makes progress. A health check that finds an old
 * file has found a consumer that records nothing although orders wait, or that is stuck.
 * @returns what writes the files; nothing is written when there is no folder.
 */
export function heartbeats(
  folder: string,
  instance: string,
): (queue: number, consumer: number) => void {
  if (folder === '') return () => {};
  return (queue, consumer) => {
    const file = join(folder, `${instance}-${queue}-${consumer}.progress`);
    writeFileSync(file, new Date().toISOString());
  };
}

/**
 * Whether a consumer of an order queue makes progress. Its connection says nothing about that: it
 * may be open and silent, or to a server that is not the master any more. So what the consumer did
 * is compared with what waits in the queue, as a new connection sees it.
 */
export class ConsumerProgress {
  #isTurning = false;
  #hasSettled = false;
  #isHandling = false;
  #hasFailed = false;
  #oldest: string | null | undefined;

  /** The queue answered the consumer. */
  turned(entries: number): void {
    this.#isTurning = true;
    if (entries > 0) this.#isHandling = true;
  }

  /** The consumer is done with its entries, or with none. */
  settled(entries: number): void {
    if (entries > 0) this.#hasSettled = true;
    else if (this.#isHandling) this.#hasFailed = true;
    this.#isHandling = false;
  }

  /** True while it has entries, or could not settle those that it had: that may take longer. */
  get isBusy(): boolean {
    return this.#isHandling || this.#hasFailed;
  }

  /**
   * @param oldest the entry that waits longest; null when none waits, undefined when that is not
   *   known.
   * @returns whether the consumer made progress since the last look.
   */
  look(oldest: string | null | undefined): boolean {
    const hasMoved = oldest !== undefined && oldest !== this.#oldest;
    const mayRest = oldest === null || (hasMoved && !this.isBusy); // Another one settles them.
    const isProgress = this.#hasSettled || (this.#isTurning && mayRest);
    if (isProgress) this.#hasFailed = false;
    this.#isTurning = false;
    this.#hasSettled = false;
    this.#oldest = oldest;
    return isProgress;
  }
}

/**
 * Whether MySQL has no space for an order, as the worker's own orders show it: a full MySQL takes
 * small changes of rows, so no probe does. Times are milliseconds of one clock.
 */
export class FullMysql {
  readonly #newsForMs: number;
  #seenAtMs: number | null = null;

  /** @param newsForMs after it without an answer, nothing is known: the worker may be stuck. */
  constructor(newsForMs: number) {
    this.#newsForMs = newsForMs;
  }

  /** MySQL has refused an order because it is full. */
  seen(nowMs: number): void {
    this.#seenAtMs = nowMs;
  }

  /** MySQL has recorded an order. */
  over(): void {
    this.#seenAtMs = null;
  }

  isLasting(nowMs: number): boolean {
    return this.#seenAtMs !== null && nowMs - this.#seenAtMs < this.#newsForMs;
  }
}
