/** What is told while a sale is broken by hand: its counts, and the locks of its servers. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { RowDataPacket } from 'mysql2/promise';
import type { Connections } from '../../service/connections/connections.ts';
import { resourceOf } from '../../service/domain.ts';
import type { Rung } from '../../service/ladder/rung.ts';
import { type RungName, rungNamed } from '../../service/ladder/rungs.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { Lab } from '../environment/lab.ts';
import { type LockKey, lockKeysOf, zookeeperLocks } from '../environment/locks-now.ts';
import { HistoryTail } from '../play/history-tail.ts';
import type { LockOnServers, SaleCounts } from '../stage/events.ts';
import type { Stage } from '../stage/stage.ts';
import { percentiles } from '../workload/percentiles.ts';
import type { AnsweredSale } from './break-loads.ts';

const countEveryMs = 500;
/** Counting many orders takes MySQL long, so the pause is this many times as long as a count. */
const restShare = 20;

/**
 * Counts a sale while it goes on: what was answered, and what its stores have.
 * @returns what ends it, and counts once more
 */
export function watchSale(
  stage: Stage,
  { voucherId, rung, answers }: AnsweredSale,
): () => Promise<void> {
  const answered = { accepted: 0, refused: 0, unknown: 0 };
  const depthOf = queueDepthOf(stage.connections, rungNamed(rung));
  const refusedBecause: Record<string, number> = {};
  let counted = 0;
  const addAnswers = () => {
    for (; counted < answers.length; counted++) {
      const { outcome = 'unknown', reason = 'unknown' } = answers[counted] ?? {};
      answered[outcome] += 1;
      if (outcome === 'refused') refusedBecause[reason] = (refusedBecause[reason] ?? 0) + 1;
    }
  };
  let reading: Promise<RecordedCounts | null> | undefined;
  /** One at a time: MySQL may stand still. */
  const read = () => {
    reading ??= readRecorded(stage, voucherId)
      .catch(() => null)
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  /** @returns how long MySQL took, in milliseconds; 0 when it did not answer */
  const count = async () => {
    addAnswers();
    // Before the stores are read: an order that was accepted by now is in one of them.
    const told = { ...answered, refusedBecause: { ...refusedBecause } };
    // The queue first: an order that goes on meanwhile is in both, and not in none.
    const queued = depthOf && (await answerOrNull(depthOf().catch(() => null)));
    const startedAt = performance.now();
    const recorded = await answerOrNull(read());
    const tookMs = recorded === null ? 0 : performance.now() - startedAt;
    const queue = queued && { ...queued, ...nowhere(told.accepted, queued, recorded) };
    const isAway = depthOf !== null && queue === null;
    const depth = isAway ? { queue: null } : queue && { queue };
    stage.emit({ kind: 'counts', rung, ...told, ...recorded, ...depth });
    return tookMs;
  };
  let timer: NodeJS.Timeout;
  let counting = Promise.resolve();
  const countAgain = () => {
    counting = count().then((tookMs) => {
      timer = setTimeout(countAgain, Math.max(countEveryMs, restShare * tookMs));
    });
  };
  timer = setTimeout(countAgain, countEveryMs);
  return async () => {
    clearTimeout(timer);
    await counting;
    clearTimeout(timer);
    await count();
  };
}

/** Of the orders that were accepted before the stores were read; unknown while one is away. */
function nowhere(accepted: number, { depth }: QueueDepth, recorded: RecordedCounts | null) {
  if (!recorded) return {};
  const { recorded: rows = 0, dead = 0 } = recorded;
  return { nowhere: Math.max(0, accepted - depth - rows - dead) };
}

type RecordedCounts = Pick<SaleCounts, 'recorded' | 'twice' | 'dead'>;

async function readRecorded({ connections }: Stage, voucherId: string): Promise<RecordedCounts> {
  const [rows] = await connections.mysql().query<RowDataPacket[]>(
    `SELECT status, COUNT(*) AS orders, COUNT(DISTINCT user_id) AS users
     FROM orders WHERE voucher_id = ? GROUP BY status`,
    [voucherId],
  );
  const of = (status: string) => rows.find((row) => row['status'] === status);
  const confirmed = of('confirmed');
  const recorded = Number(confirmed?.['orders'] ?? 0);
  const twice = recorded - Number(confirmed?.['users'] ?? 0);
  return { recorded, twice, dead: Number(of('failed')?.['orders'] ?? 0) };
}

type QueueDepth = Omit<NonNullable<SaleCounts['queue']>, 'nowhere'>;

/** @returns null without a queue that other processes can ask */
function queueDepthOf(connections: Connections, rung: Rung): (() => Promise<QueueDepth>) | null {
  if (!rung.queue || rung.queueInProcess) return null;
  const queue = rung.queue(connections);
  return async () => ({
    depth: await queue.depth(),
    inHand: (await queue.inHand?.().catch(() => null)) ?? null,
    isInHandUncounted: queue.isInHandUncounted ?? false,
  });
}

const lookEveryMs = 1_000;
/** The oldest: the others come and go between two looks. */
const locksMax = 6;
const keptMs = 5_000;
/** With one lock for every purchase. */
const ofAllSales = resourceOf('method', { voucherId: '', userId: '' });
const ownerLetters = 8;

export interface WatchedLocks {
  readonly rung: RungName;
  readonly voucherId: string;
  /** A faster sale keeps none: then nobody knows how long locks are kept. */
  readonly hasHistory: boolean;
}

/**
 * Which locks the lock servers of a rung have, and how long purchases keep theirs: what a lease
 * must outlast.
 * @returns what ends it
 */
export function watchLocks(stage: Stage, { rung, voucherId, hasHistory }: WatchedLocks) {
  const servers = rungNamed(rung).lockService?.servers.filter(hasLocks) ?? [];
  if (servers.length === 0) return () => {};
  const inside = hasHistory ? new TimesInside(stage.lab, voucherId) : undefined;
  const isOfSale = (resource: string) =>
    resource === ofAllSales || `${resource}:`.startsWith(`voucher:${voucherId}:`);
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    const found = await Promise.all(
      servers.map((name) => answerOrNull(locksOn(stage, name, isOfSale))),
    );
    const own = found.flatMap((keys) => keys ?? []).filter(({ resource }) => isOfSale(resource));
    const unread = servers.filter((_, index) => found[index] === null);
    const p99Ms = inside?.p99Ms() ?? null;
    stage.emit({ kind: 'locks', rung, unread, locks: oldest(own), p99Ms });
    isLooking = false;
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  return () => clearInterval(timer);
}

const hasLocks = (server: string) => server === 'zookeeper' || server.startsWith('redis');

/** @returns null when this server does not answer */
const locksOn = (
  { lab, connections }: Stage,
  server: string,
  isOfSale: (resource: string) => boolean,
): Promise<LockKey[] | null> =>
  server === 'zookeeper'
    ? zookeeperLocks(connections.zookeeper(), isOfSale).catch(() => null)
    : lockKeysOf(lab, server);

function oldest(keys: readonly LockKey[]): LockOnServers[] {
  const byLock = new Map<string, LockOnServers>();
  for (const { resource, owner, server, leftMs } of keys) {
    const id = `${resource} ${owner}`;
    const { leftOn = {} } = byLock.get(id) ?? {};
    const short = owner.slice(0, ownerLetters);
    byLock.set(id, { resource, owner: short, leftOn: { ...leftOn, [server]: leftMs } });
  }
  const least = ({ leftOn }: LockOnServers) =>
    Math.min(...Object.values(leftOn).map((leftMs) => leftMs ?? 0));
  return [...byLock.values()].sort((one, other) => least(one) - least(other)).slice(0, locksMax);
}

interface Open {
  readonly sinceMs: number;
  readonly instance: string;
  readonly pid: number;
}

/** From the grant to the release, of the last seconds; of a lock that is kept, until now. */
class TimesInside {
  readonly #lab: Lab;
  readonly #voucherId: string;
  readonly #tail: HistoryTail;
  readonly #open = new Map<string, Open>();
  readonly #pids = new Map<string, number>();
  #over: { readonly atMs: number; readonly tookMs: number }[] = [];

  constructor(lab: Lab, voucherId: string) {
    this.#lab = lab;
    this.#voucherId = voucherId;
    this.#tail = new HistoryTail(lab.historyFolder);
  }

  /** @returns null when no lock was granted lately */
  p99Ms(): number | null {
    this.#pids.clear();
    for (const event of this.#tail.read()) this.#read(event);
    const nowMs = Number(process.hrtime.bigint() / 1_000_000n);
    this.#over = this.#over.filter(({ atMs }) => nowMs - atMs < keptMs);
    for (const [id, { instance, pid }] of this.#open)
      if (this.#pidOf(instance) !== pid) this.#open.delete(id); // Its process has ended.
    const open = [...this.#open.values()].map(({ sinceMs }) => nowMs - sinceMs);
    const all = [...this.#over.map(({ tookMs }) => tookMs), ...open];
    return all.length > 0 ? percentiles(all).p99 : null;
  }

  #read({ event, requestId, instance, at, voucherId }: HistoryEvent): void {
    if (voucherId !== this.#voucherId) return;
    const atMs = Number(BigInt(at) / 1_000_000n);
    if (event === 'granted') {
      this.#open.set(requestId, { sinceMs: atMs, instance, pid: this.#pidOf(instance) });
      return;
    }
    const open = this.#open.get(requestId);
    if (event !== 'releasing' || !open) return;
    this.#open.delete(requestId);
    this.#over.push({ atMs, tookMs: atMs - open.sinceMs });
  }

  /** Looked up once in a look. 0: it does not run. */
  #pidOf(instance: string): number {
    const known = this.#pids.get(instance) ?? pidOr0(this.#lab, instance);
    this.#pids.set(instance, known);
    return known;
  }
}

function pidOr0(lab: Lab, instance: string): number {
  try {
    return lab.pidOf(instance);
  } catch {
    return 0;
  }
}

const withinMs = 1_000;

/** @returns null when it takes longer */
const answerOrNull = <T>(answer: Promise<T>): Promise<T | null> =>
  Promise.race([answer, sleep(withinMs, null, { ref: false })]);
