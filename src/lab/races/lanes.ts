/** The player's side of the lanes: starts requests, receives their arrivals, resumes them. */
import type { Redis } from 'ioredis';
import type { Attempt } from '../../audit/facts.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { type Arrival, raceKeys } from './race-keys.ts';
import { resumeLane } from './resume-lane.ts';

export type LaneState =
  | { readonly kind: 'paused'; readonly arrival: Arrival }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly attempt: Attempt };

/** A lane stood at a checkpoint, from its arrival until it was resumed, or its process ended. */
export interface Stop extends Pick<Arrival, 'lane' | 'checkpoint' | 'instance'> {
  /** Nanoseconds of the clock of the history. */
  readonly from: string;
  readonly to: string;
}

export class Lanes {
  readonly #race: string;
  readonly #redis: Redis;
  readonly #send: (lane: string) => Promise<Attempt>;
  readonly #states = new Map<string, LaneState>();
  readonly #watched = new Set<string>();
  readonly #stops: Stop[] = [];
  /** The watched lanes whose arrival no step has looked at. */
  readonly #early = new Set<string>();

  constructor(race: string, redis: Redis, send: (lane: string) => Promise<Attempt>) {
    this.#race = race;
    this.#redis = redis;
    this.#send = send;
  }

  /** Those that have ended. */
  get stops(): readonly Stop[] {
    return this.#stops;
  }

  state(lane: string): LaneState | undefined {
    return this.#states.get(lane);
  }

  /** A lane that sends no request, the worker's: it arrives by itself, perhaps before its step. */
  watch(lane: string): void {
    this.#watched.add(lane);
    this.#early.delete(lane);
    this.#leave(lane, { kind: 'running' });
  }

  /** Starts the lane's request, or resumes it; nothing for a lane that runs or is answered. */
  async resume(lane: string): Promise<void> {
    const state = this.#states.get(lane);
    if (state && state.kind !== 'paused') return;
    if (this.#early.delete(lane)) return;
    this.#leave(lane, { kind: 'running' });
    if (state) await resumeLane(this.#redis, this.#race, lane);
    else void this.#send(lane).then((attempt) => this.#leave(lane, { kind: 'answered', attempt }));
  }

  /**
   * True once the lane is paused or answered; false when it still runs after `withinMs`: it waits
   * for a lock.
   */
  async settled(lane: string, withinMs: number): Promise<boolean> {
    const isSettled = () => this.#states.get(lane)?.kind !== 'running';
    const condition = async () => {
      await this.#receive();
      return isSettled();
    };
    await waitUntil(`lane ${lane}`, withinMs, condition, 5).catch(() => {});
    return isSettled();
  }

  /** Runs every lane to its answer. */
  async finish(lanes: readonly string[], withinMs: number): Promise<Attempt[]> {
    await waitUntil('every lane to be answered', withinMs, async () => {
      await this.#receive();
      for (const lane of lanes)
        if (this.#states.get(lane)?.kind === 'paused') await this.resume(lane);
      return lanes.every((lane) => this.#states.get(lane)?.kind !== 'running');
    });
    return lanes.flatMap((lane) => this.#answer(lane) ?? []);
  }

  #answer(lane: string): Attempt | undefined {
    const state = this.#states.get(lane);
    return state?.kind === 'answered' ? state.attempt : undefined;
  }

  /** The lane is somewhere else now. */
  #leave(lane: string, next: LaneState): void {
    const state = this.#states.get(lane);
    if (state?.kind === 'paused') {
      const { checkpoint, instance, at } = state.arrival;
      const to = String(process.hrtime.bigint());
      this.#stops.push({ lane, checkpoint, instance, from: at, to });
    }
    this.#states.set(lane, next);
  }

  async #receive(): Promise<void> {
    const arrivals = (await this.#redis.lpop(raceKeys.arrivals(this.#race), 100)) ?? [];
    for (const text of arrivals) {
      const arrival = JSON.parse(text) as Arrival;
      // A lane that was answered meanwhile (its process was killed) is paused nowhere.
      if (this.#states.get(arrival.lane)?.kind !== 'running') continue;
      this.#states.set(arrival.lane, { kind: 'paused', arrival });
      if (this.#watched.has(arrival.lane)) this.#early.add(arrival.lane);
    }
  }
}
