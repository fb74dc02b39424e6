/** A choice or a step breaks a process, a lease or a server here; the end of the play mends it. */
import type { Redis } from 'ioredis';
import type { Rung } from '../../service/ladder/rung.ts';
import { endLeaseIn, renewLeasesIn } from '../environment/ask-instance.ts';
import type { Lab } from '../environment/lab.ts';
import { isInTime } from '../environment/wait-until.ts';
import type { Fault, HasHit, Undo, WatchedFault } from '../faults/fault.ts';
import { heldEventLoop, killProcess, pauseProcess, stopServer } from '../faults/process.ts';
import type { PlayedLane } from '../stage/events.ts';
import type { Stage } from '../stage/stage.ts';
import { lockClients, lockKey } from './lock-clients.ts';

/** So much is left when a renewal is due: a slow machine must not miss it. */
const lastOfLeaseMs = 10_000;
const renewedWithinMs = 1_500;

export class PlayFaults {
  readonly #stage: Stage;
  readonly #rung: Rung;
  /** What a race has broken, and what mends it. */
  readonly #broken = new Map<string, Undo>();
  readonly #dead = new Map<string, Undo>();
  readonly #stopped = new Set<string>();
  /** The lanes whose process stands still, and what it hears when it runs again. */
  readonly #paused = new Map<string, { readonly resume: Undo; hears: () => Promise<void> }>();

  constructor(stage: Stage, rung: Rung) {
    this.#stage = stage;
    this.#rung = rung;
  }

  isDead(lane: string): boolean {
    return this.#dead.has(lane);
  }

  /** @returns whether it is seen to have hit */
  async kill(lane: string, pid: number, name?: string): Promise<boolean> {
    const { undo, hasHit } = await injectWatched([killProcess(pid, name)], this.#stage);
    this.#dead.set(lane, undo);
    return hasHit;
  }

  /** With another lane of its process. */
  died(lane: string): void {
    this.#dead.set(lane, async () => {});
  }

  isPaused(lane: string): boolean {
    return this.#paused.has(lane);
  }

  /** @returns whether it is seen to have hit */
  pause(lane: string, pid: number, name?: string): Promise<boolean> {
    return this.#standStill(lane, pauseProcess(pid, name));
  }

  /** @returns whether it is seen to have hit */
  block(lane: string, instance: string): Promise<boolean> {
    return this.#standStill(lane, heldEventLoop(instance));
  }

  async #standStill(lane: string, fault: WatchedFault): Promise<boolean> {
    const { undo: resume, hasHit } = await injectWatched([fault], this.#stage);
    this.#paused.set(lane, { resume, hears: async () => {} });
    return hasHit;
  }

  async resume(lane: string): Promise<void> {
    const paused = this.#paused.get(lane);
    this.#paused.delete(lane);
    await paused?.resume();
    await paused?.hears();
  }

  /** @returns whether all of it is seen to have hit */
  async break(name: string, faults: readonly WatchedFault[]): Promise<boolean> {
    const { undo, hasHit } = await injectWatched(faults, this.#stage);
    this.#broken.set(name, undo);
    return hasHit;
  }

  isBroken(name: string): boolean {
    return this.#broken.has(name);
  }

  async mendOne(name: string): Promise<void> {
    await this.#broken.get(name)?.();
    this.#broken.delete(name);
  }

  /** A lock server that the rung asks, and that runs. */
  canStop(server: string): boolean {
    return this.#isOwn(server) && !this.#stopped.has(server);
  }

  async stop(server: string): Promise<void> {
    await stopOnce(this.#stage, server);
    this.#stopped.add(server);
  }

  /** Servers that choices have stopped. */
  get stopped(): readonly string[] {
    return [...this.#stopped];
  }

  canStart(server: string): boolean {
    return this.#stopped.has(server);
  }

  async start(server: string): Promise<void> {
    this.#stopped.delete(server);
    await startAtLast(this.#stage, server);
    await this.#stage.connections.ready();
  }

  #isOwn(server: string): boolean {
    return this.#rung.lockService?.servers.includes(server) ?? false;
  }

  /** A key without a time to live, a mutex and a node of ZooKeeper have no lease that ends. */
  async canEndLease(voucherId: string, { userId }: PlayedLane): Promise<boolean> {
    const key = lockKey(this.#rung, { voucherId, userId });
    const left = await Promise.all(this.#servers().map((redis) => redis.pttl(key)));
    return left.some((leftMs) => leftMs > 0);
  }

  /**
   * The time of the lease passes at once: its keys are gone, the lease in its process is over, and
   * a waiter that sleeps until that time wakes up.
   */
  async endLease(voucherId: string, lane: PlayedLane, requestId: string): Promise<void> {
    const { userId } = lane;
    const key = lockKey(this.#rung, { voucherId, userId });
    const inject = async (lab: Lab) => {
      const paused = this.#paused.get(lane.name);
      const tell = () => endLeaseIn(lab, lane.instance, requestId);
      if (paused) paused.hears = tell;
      else if (!this.isDead(lane.name)) await tell();
      for (const redis of this.#servers()) {
        await redis.del(key);
        await wakeWaiters(redis, key);
      }
      return async () => {}; // A lease that has ended stays so.
    };
    await this.#stage.inject({ name: `end the lease of ${lane.name}`, inject });
  }

  /**
   * All but the last of its lease has passed: its process renews it now, or it ends.
   * @returns whether it was renewed
   */
  async passTime(voucherId: string, lane: PlayedLane, requestId: string): Promise<boolean> {
    const { name, userId, instance } = lane;
    const key = lockKey(this.#rung, { voucherId, userId });
    const servers = this.#servers();
    for (const redis of servers) await redis.pexpire(key, lastOfLeaseMs);
    const isRenewed = async () => {
      const left = await Promise.all(servers.map((redis) => redis.pttl(key)));
      const renewed = left.filter((leftMs) => leftMs > lastOfLeaseMs);
      return renewed.length >= (this.#rung.lockService?.needed ?? 1);
    };
    const renew = async () => {
      await renewLeasesIn(this.#stage.lab, instance).catch(() => {}); // It may be cut off.
      return isInTime(this.#stage.until('the renewal of a lease', renewedWithinMs, isRenewed));
    };
    if (!(this.isDead(name) || this.isPaused(name)) && (await renew())) return true;
    await this.endLease(voucherId, lane, requestId);
    return false;
  }

  /** Those of the lock that answer. */
  #servers(): Redis[] {
    const clients = lockClients(this.#stage.connections, this.#rung);
    return clients.map(([, redis]) => redis).filter(({ status }) => status === 'ready');
  }

  /** All of it, whatever fails. @throws the first error */
  async mend(): Promise<void> {
    const undos = [
      ...[...this.#broken.values()].reverse(),
      ...[...this.#paused.keys()].map((lane) => () => this.resume(lane)),
      ...this.#dead.values(),
      ...[...this.#stopped].map((server) => () => this.start(server)),
    ];
    const errors: unknown[] = [];
    for (const undo of undos) await undo().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}

/** Two plays may stop one server: it starts when both have started it. */
const stoppedOn = new WeakMap<Stage, Map<string, { users: number; readonly undo: Undo }>>();

async function stopOnce(stage: Stage, server: string): Promise<void> {
  const stopped = stoppedOn.get(stage) ?? new Map();
  stoppedOn.set(stage, stopped);
  const known = stopped.get(server);
  if (known) known.users += 1;
  else {
    const { undo } = await injectWatched([stopServer(server)], stage);
    stopped.set(server, { users: 1, undo });
  }
}

async function startAtLast(stage: Stage, server: string): Promise<void> {
  const known = stoppedOn.get(stage)?.get(server);
  if (!known) return;
  known.users -= 1;
  if (known.users > 0) return;
  stoppedOn.get(stage)?.delete(server);
  await known.undo();
}

/** Every kind of release message wakes a waiter: what it says does not matter. */
async function wakeWaiters(redis: Redis, key: string): Promise<void> {
  const channels = (await redis.pubsub('CHANNELS', `*${key}*`)) as string[];
  for (const channel of channels) await redis.publish(channel, '0');
}

/** Injects these faults, and sees from outside whether each of them hit. */
export async function injectWatched(
  faults: readonly WatchedFault[],
  stage: Stage,
): Promise<{ readonly undo: Undo; readonly hasHit: boolean }> {
  const undos: Undo[] = [];
  let hasHit = true;
  for (const fault of faults) {
    const seen = await fault.watch(stage.lab);
    undos.push(await stage.inject(fault));
    hasHit &&= await isSeen(fault, seen, stage);
  }
  const undo = async () => {
    for (const each of undos.reverse()) await each();
  };
  return { undo, hasHit };
}

/** A killed process is there for a moment longer. */
const seenWithinMs = 2_000;

const isSeen = ({ name }: Fault, hasHit: HasHit, stage: Stage): Promise<boolean> =>
  isInTime(stage.until(`the effect of: ${name}`, seenWithinMs, hasHit));
