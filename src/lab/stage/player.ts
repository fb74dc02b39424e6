/**
 * Runs lanes from checkpoint to checkpoint: requests, and the process that consumes their orders.
 * Races, the soak and the trials of mutants all use it.
 */

import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Attempt } from '../../service/audit/facts.ts';
import { serviceError } from '../../service/errors.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Emit, LaneEvent } from './events.ts';
import { type Arrival, keptSeconds, laneKeys, stayPresent, workerLane } from './lane-messages.ts';
import type { Place } from './place.ts';

export type LaneState =
  | { readonly kind: 'paused'; readonly arrival: Arrival }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly attempt: Attempt };

type StillState = Exclude<LaneState, { readonly kind: 'running' }>;
/** Where a lane is after it ran. `slow`: it was not seen in time. */
export type ReachedState = StillState | { readonly kind: 'slow' };

/** A lane stood at a checkpoint, from its arrival until it was resumed, or its process ended. */
export interface Stop extends Pick<Arrival, 'lane' | 'checkpoint' | 'instance'> {
  /** Nanoseconds of the clock of the history. */
  readonly from: string;
  readonly to: string;
}

/** One lane, for a caller that must have it at a checkpoint. */
export interface Lane {
  /** It is resumed first, if it stands. @throws DEADLINE_PASSED when it does not arrive there. */
  until(checkpoint: CheckpointName): Promise<Arrival>;
  resume(): Promise<void>;
}

interface PlayerTools {
  readonly redis: Redis;
  readonly emit: Emit;
  /** Ends every wait. */
  readonly signal: AbortSignal;
}

const checkpointsMax = 20;

export class Player {
  /** Each request has its name: so a worker knows the orders that stop it. */
  readonly id = randomUUID();
  readonly #tools: PlayerTools;
  readonly #senders = new Map<string, () => Promise<Attempt>>();
  readonly #states = new Map<string, LaneState>();
  readonly #stops: Stop[] = [];
  /** Its lanes wait for it, however long a person thinks. */
  readonly #leave: () => void;
  /** The lanes without a request whose arrival nobody has looked at. */
  readonly #early = new Set<string>();

  constructor(tools: PlayerTools) {
    this.#tools = tools;
    this.#leave = stayPresent(tools.redis, this.id);
  }

  requestId = (lane: string): string => `${this.id}-${lane}`;
  /** A request with them stops at every checkpoint. */
  headers = (lane: string) => ({ 'x-lab-lane': `${this.id}:${lane}` });

  /** Those that have ended. */
  get stops(): readonly Stop[] {
    return this.#stops;
  }

  state(lane: string): LaneState | undefined {
    return this.#states.get(lane);
  }

  /** A lane that sends this request when it is run first. */
  add(lane: string, send: () => Promise<Attempt>): void {
    this.#senders.set(lane, send);
  }

  /** A lane that sends nothing: it arrives by itself, perhaps before anybody looks. */
  watch(lane: string): void {
    this.#early.delete(lane);
    this.#be(lane, { kind: 'running' });
  }

  /** From now on the orders of its requests stop the process that consumes them. */
  async armWorker(): Promise<void> {
    await this.#tools.redis.set(laneKeys.armed(this.id), '1', 'EX', keptSeconds);
    if (!this.#states.has(workerLane)) this.watch(workerLane); // Else it may stand already.
  }

  /** No process stops any more. One that stands at a checkpoint stays there. */
  async disarmWorker(): Promise<void> {
    await this.#tools.redis.del(laneKeys.armed(this.id));
  }

  /** The worker stops no more, and resumes where it is. */
  async freeWorker(): Promise<void> {
    await this.disarmWorker();
    await this.#go(workerLane);
    this.#early.delete(workerLane);
  }

  /** Sends the request of a lane that was answered again. */
  again(lane: string): void {
    this.#be(lane, { kind: 'running' });
    void this.#send(lane);
  }

  /** Starts the lane's request, or resumes it; nothing for a lane that runs or is answered. */
  async resume(lane: string): Promise<void> {
    const state = this.#states.get(lane);
    if (state && state.kind !== 'paused') return;
    if (this.#early.delete(lane)) return;
    this.#be(lane, { kind: 'running' });
    if (state) await this.#go(lane);
    else void this.#send(lane);
  }

  /** The message expires, because the process of a killed lane never takes it. */
  async #go(lane: string): Promise<void> {
    const key = laneKeys.resume(this.id, lane);
    await this.#tools.redis.multi().rpush(key, 'resume').expire(key, keptSeconds).exec();
  }

  async #send(lane: string): Promise<void> {
    const attempt = await this.#senders.get(lane)?.();
    if (attempt) this.#be(lane, { kind: 'answered', attempt });
  }

  /** From checkpoint to checkpoint, until the lane is at one of these, or can go no further. */
  async to(
    lane: string,
    places: readonly (CheckpointName | 'answer')[],
    { withinMs }: { readonly withinMs: number },
  ): Promise<ReachedState> {
    for (let count = 0; count < checkpointsMax; count++) {
      await this.resume(lane);
      const reached = await this.#settled(lane, withinMs);
      if (reached.kind !== 'paused') return reached;
      if (places.includes(reached.arrival.checkpoint)) return reached;
    }
    return { kind: 'slow' };
  }

  /** Reads who has arrived. @returns whether anybody has */
  async look(): Promise<boolean> {
    const hasArrived = await this.#receive();
    this.#early.clear();
    return hasArrived;
  }

  /** True once the lane is paused or answered; false when it still runs after `withinMs`. */
  async settles(lane: string, withinMs: number): Promise<boolean> {
    const isSettled = async () => {
      await this.#receive();
      return this.#states.get(lane)?.kind !== 'running';
    };
    const { signal } = this.#tools;
    await waitUntil(`lane ${lane}`, withinMs, isSettled, 5, signal).catch(() => {});
    signal.throwIfAborted();
    return this.#states.get(lane)?.kind !== 'running';
  }

  lane(name: string, withinMs: number): Lane {
    return {
      until: async (checkpoint) => {
        const reached = await this.to(name, [checkpoint], { withinMs });
        if (reached.kind === 'paused') return reached.arrival;
        throw serviceError('DEADLINE_PASSED', `${name} to be at ${checkpoint}`, withinMs);
      },
      resume: () => this.resume(name),
    };
  }

  /** Nothing stops any more, and every lane that stands, or still arrives, goes on. */
  async freeAll(): Promise<void> {
    this.#leave();
    await this.freeWorker();
    for (const [lane, { kind }] of this.#states)
      if (lane !== workerLane && kind !== 'answered') await this.#go(lane);
  }

  /** Runs every request that was sent to its answer. @throws DEADLINE_PASSED */
  async finish(withinMs: number): Promise<void> {
    const lanes = [...this.#senders.keys()].filter((lane) => this.#states.has(lane));
    await waitUntil('every lane to be answered', withinMs, async () => {
      await this.#receive();
      for (const lane of lanes)
        if (this.#states.get(lane)?.kind === 'paused') await this.resume(lane);
      return lanes.every((lane) => this.#states.get(lane)?.kind !== 'running');
    });
    this.#leave();
  }

  async #settled(lane: string, withinMs: number): Promise<ReachedState> {
    await this.settles(lane, withinMs);
    this.#early.delete(lane);
    const state = this.#states.get(lane);
    return state && state.kind !== 'running' ? state : { kind: 'slow' };
  }

  async #receive(): Promise<boolean> {
    const texts = (await this.#tools.redis.lpop(laneKeys.arrivals(this.id), 100)) ?? [];
    for (const arrival of texts.map((text) => JSON.parse(text) as Arrival)) {
      // A lane that was answered since then (its process was killed) is paused nowhere.
      if (this.#states.get(arrival.lane)?.kind !== 'running') continue;
      this.#be(arrival.lane, { kind: 'paused', arrival });
      if (!this.#senders.has(arrival.lane)) this.#early.add(arrival.lane);
    }
    return texts.length > 0;
  }

  /** The lane is somewhere else now. */
  #be(lane: string, next: LaneState): void {
    const state = this.#states.get(lane);
    if (state?.kind === 'paused') {
      const { checkpoint, instance, at } = state.arrival;
      const to = String(process.hrtime.bigint());
      this.#stops.push({ lane, checkpoint, instance, from: at, to });
    }
    this.#states.set(lane, next);
    const at = next.kind === 'paused' ? next.arrival.at : undefined;
    this.#tools.emit({ kind: 'lane', player: this.id, lane, ...eventOf(next) }, at);
  }
}

/** Where a lane is that does not run. */
export function placeOfLane(state: StillState): Extract<Place, { readonly is: 'at' | 'answered' }> {
  if (state.kind === 'answered') return { is: 'answered', attempt: answerIn(state.attempt) };
  const { checkpoint, instance } = state.arrival;
  return { is: 'at', checkpoint, instance };
}

const answerIn = ({ outcome, reason, orderId, instance }: Attempt) => ({
  outcome,
  ...(reason !== undefined && { reason }),
  ...(orderId !== undefined && { orderId }),
  ...(instance !== undefined && { instance }),
});

function eventOf(state: LaneState): LaneEvent {
  if (state.kind === 'running') return { is: 'running' };
  if (state.kind === 'paused') {
    const { checkpoint, instance } = state.arrival;
    return { is: 'paused', checkpoint, instance };
  }
  const { outcome, reason, orderId } = state.attempt;
  return { is: 'answered', outcome, ...(reason && { reason }), ...(orderId && { orderId }) };
}
