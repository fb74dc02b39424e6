/** The player's side of the lanes: starts requests, hears where they are, lets them go on. */
import type { Redis } from 'ioredis';
import type { Attempt } from '../audit/facts.ts';
import { waitUntil } from '../lab/waiting.ts';
import { type Arrival, raceKeys } from './keys.ts';

export type Where =
  | { readonly kind: 'at'; readonly arrival: Arrival }
  | { readonly kind: 'running' }
  | { readonly kind: 'answered'; readonly attempt: Attempt };

export class Lanes {
  readonly #race: string;
  readonly #redis: Redis;
  readonly #send: (lane: string) => Promise<Attempt>;
  readonly #where = new Map<string, Where>();

  constructor(race: string, redis: Redis, send: (lane: string) => Promise<Attempt>) {
    this.#race = race;
    this.#redis = redis;
    this.#send = send;
  }

  where(lane: string): Where | undefined {
    return this.#where.get(lane);
  }

  /** Starts the lane's request, or lets it go on from where it is held; nothing for one that runs or is answered. */
  async goOn(lane: string): Promise<void> {
    const where = this.#where.get(lane);
    if (where && where.kind !== 'at') return;
    this.#where.set(lane, { kind: 'running' });
    if (where) await this.#redis.rpush(raceKeys.goOn(this.#race, lane), 'go');
    else void this.#send(lane).then((attempt) => this.#where.set(lane, { kind: 'answered', attempt }));
  }

  /** True once the lane stands at a checkpoint or is answered; false when it still runs after `withinMs`: it waits. */
  async settled(lane: string, withinMs: number): Promise<boolean> {
    const still = () => this.#where.get(lane)?.kind !== 'running';
    return waitUntil(
      `lane ${lane}`,
      withinMs,
      async () => {
        await this.#hear();
        return still();
      },
      5,
    ).then(
      () => true,
      () => still(),
    );
  }

  /** Lets every lane run to its answer. */
  async finish(lanes: readonly string[], withinMs: number): Promise<Attempt[]> {
    const answers = () => lanes.flatMap((lane) => this.#answer(lane) ?? []);
    await waitUntil('every lane to be answered', withinMs, async () => {
      await this.#hear();
      for (const lane of lanes) if (this.#where.get(lane)?.kind === 'at') await this.goOn(lane);
      return lanes.every((lane) => this.#where.get(lane)?.kind !== 'running');
    });
    return answers();
  }

  #answer(lane: string): Attempt | undefined {
    const where = this.#where.get(lane);
    return where?.kind === 'answered' ? where.attempt : undefined;
  }

  async #hear(): Promise<void> {
    const arrivals = (await this.#redis.lpop(raceKeys.arrivals(this.#race), 100)) ?? [];
    for (const text of arrivals) {
      const arrival = JSON.parse(text) as Arrival;
      // A lane that was answered meanwhile (its process was killed) is nowhere.
      if (this.#where.get(arrival.lane)?.kind === 'running')
        this.#where.set(arrival.lane, { kind: 'at', arrival });
    }
  }
}
