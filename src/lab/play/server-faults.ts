/** What is broken in the servers of a rung's lock and behind its sale, and what mends it. */
import type { Rung } from '../../service/ladder/rung.ts';
import type { StepEffect } from '../stage/place.ts';
import type { LaneState } from '../stage/player.ts';
import type { Stage } from '../stage/stage.ts';
import { isLasting, type ServerFault, serverFaults } from './letters.ts';
import { lockKey } from './lock-clients.ts';
import { type LockFaultTarget, leavesLockAvailable, lockFaultsOf } from './lock-faults.ts';
import type { PlayFaults } from './play-faults.ts';
import { isQueueFault, isRestart, queueFaultsOf } from './queue-faults.ts';
import type { FaultName } from './schedule.ts';

export interface BrokenSale {
  readonly stage: Stage;
  readonly rung: Rung;
  readonly faults: PlayFaults;
  readonly voucherId: string;
  /** Whose lock it is. */
  readonly userId: string;
  /** The lease of the lock. */
  readonly leaseMs: number;
  /** Resolves once every instance sells: its lock can be acquired, its stores answer. */
  readonly lockAnswers: () => Promise<void>;
}

export class ServerFaults {
  readonly #of: BrokenSale;

  constructor(of: BrokenSale) {
    this.#of = of;
  }

  /** @returns undefined where the lock of the rung has no servers */
  target(lane?: LaneState): LockFaultTarget | undefined {
    const { rung, stage, voucherId, userId, leaseMs } = this.#of;
    if (!rung.lockService) return undefined;
    const { pid = 0, instance = '' } = lane?.kind === 'paused' ? lane.arrival : {};
    const key = lockKey(rung, { voucherId, userId });
    const answerMs = stage.connections.config.LOCK_ANSWER_MS;
    return { ...rung.lockService, key, pid, instance, leaseMs, answerMs };
  }

  /**
   * @param lane of whose process it is, by its name and where it is; empty for a server
   * @returns undefined when nothing was seen of it
   */
  async break(name: FaultName, lane: string, state?: LaneState): Promise<StepEffect | undefined> {
    const faults = this.#faultsOf(name, state);
    if (!(await this.#of.faults.break(keyOf(name, lane), faults))) return undefined;
    if (isQueueFault(name) ? isRestart(name) : leavesLockAvailable(name))
      await this.#of.lockAnswers();
    return faults.length > 0 ? 'injected' : 'nothing-to-hit';
  }

  async mend(name: FaultName, lane: string): Promise<void> {
    await this.#of.faults.mendOne(keyOf(name, lane));
    if (!isQueueFault(name)) await this.#of.lockAnswers();
  }

  isBroken(name: FaultName, lane: string): boolean {
    return this.#of.faults.isBroken(keyOf(name, lane));
  }

  /** Every server that it hits runs; one that stands still already may lose its data. */
  canBreak(name: ServerFault): boolean {
    const others = this.#of.faults.stopped.filter(
      (server) => name !== 'restart-empty' || server !== this.target()?.servers[0],
    );
    return others.length === 0 && !this.isBroken(name, '');
  }

  get areAway(): boolean {
    return Object.values(serverFaults).some((name) => isLasting(name) && this.isBroken(name, ''));
  }

  /** The stores cannot be read until these are mended. */
  get unreadable(): readonly ServerFault[] {
    const isMain = this.target()?.servers.includes('redis-main');
    const hidden = [
      'connections-used-up',
      ...(isMain ? ['promote-replica' as const] : []),
    ] as const;
    return hidden.filter((name) => this.isBroken(name, ''));
  }

  #faultsOf(name: FaultName, state?: LaneState) {
    const { rung, stage } = this.#of;
    if (isQueueFault(name)) return queueFaultsOf(name, rung, stage.lab);
    const target = this.target(state);
    return target ? lockFaultsOf(name, target) : [];
  }
}

/** By the choice that mends it: that of a lane's process, or of servers. */
export const brokenBy = (to: string): [name: FaultName, lane: string] =>
  to.length === 1 ? ['cut-off', to] : [to as ServerFault, ''];

const keyOf = (name: FaultName, lane: string): string => `${name} ${lane}`;
