/**
 * The player's side of one request or worker that stops at every checkpoint: it is resumed until it
 * is at the one that a trial wants.
 */
import type { Redis } from 'ioredis';
import type { CheckpointName } from '../../trace/checkpoints.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { type Arrival, raceKeys } from '../races/race-keys.ts';
import { resumeLane } from '../races/resume-lane.ts';
import { armWorker, disarmWorker } from '../races/stopped-worker.ts';

const arrivesWithinMs = 15_000;

export class Meeting {
  readonly #redis: Redis;
  readonly #race: string;
  readonly #lane: string;
  #at: Arrival | undefined;

  constructor(redis: Redis, race: string, lane: string) {
    this.#redis = redis;
    this.#race = race;
    this.#lane = lane;
  }

  /** From now on its order stops the worker that consumes it, at every checkpoint. */
  arm(): Promise<void> {
    return armWorker(this.#redis, this.#race);
  }

  /** It stops no worker any more. One that stands still stays where it is. */
  disarm(): Promise<void> {
    return disarmWorker(this.#redis, this.#race);
  }

  /** It is resumed first. @throws DeadlinePassed when it does not arrive there. */
  async until(checkpoint: CheckpointName): Promise<Arrival> {
    for (;;) {
      await this.resume();
      const arrival = await this.#next(checkpoint);
      if (arrival.checkpoint === checkpoint) return arrival;
    }
  }

  /** It goes on from where it is. */
  async resume(): Promise<void> {
    if (!this.#at) return;
    this.#at = undefined;
    await resumeLane(this.#redis, this.#race, this.#lane);
  }

  /** At the end: it stops no more, and goes on from where it is. */
  async end(): Promise<void> {
    await this.disarm();
    this.#at = undefined;
    await resumeLane(this.#redis, this.#race, this.#lane);
  }

  async #next(checkpoint: CheckpointName): Promise<Arrival> {
    let text: string | null = null;
    await waitUntil(`${this.#lane} to be at ${checkpoint}`, arrivesWithinMs, async () => {
      text = await this.#redis.lpop(raceKeys.arrivals(this.#race));
      return text !== null;
    });
    const arrival = JSON.parse(text ?? '') as Arrival;
    this.#at = arrival;
    return arrival;
  }
}
