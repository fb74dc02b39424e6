/** Requests and an order worker that stand at a checkpoint, until they are freed. */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Attempt } from '../../audit/facts.ts';
import type { CheckpointName } from '../../trace/checkpoints.ts';
import { Lanes } from '../races/lanes.ts';
import { type Arrival, workerLane } from '../races/race-keys.ts';
import { armWorker, disarmWorker, freeWorker } from '../races/stopped-worker.ts';

const arriveWithinMs = 8_000;
const answeredWithinMs = 20_000;
const mostCheckpoints = 10;

/** Sends the purchase with this request id; with these headers it meets the player. */
export type SendProbe = (
  requestId: string,
  headers: Readonly<Record<string, string>>,
) => Promise<Attempt>;

export class Stops {
  readonly #redis: Redis;
  readonly #send: SendProbe;
  /** Two races, so that only the order that is meant for it stops a worker. */
  readonly #ofPurchases = randomUUID();
  readonly #ofWorker = randomUUID();
  readonly #purchases: Lanes;
  readonly #worker: Lanes;
  readonly #lanes: CheckpointName[] = [];
  #sent: Promise<unknown> = Promise.resolve();

  constructor(redis: Redis, send: SendProbe) {
    const race = this.#ofPurchases;
    this.#redis = redis;
    this.#send = send;
    this.#purchases = new Lanes(race, redis, (lane) =>
      send(`${race}-${lane}`, { 'x-lab-lane': `${race}:${lane}` }),
    );
    this.#worker = new Lanes(this.#ofWorker, redis, () => Promise.reject(new Error('no request')));
  }

  /** @returns where the purchase stands; null when it did not arrive. */
  purchaseAt(checkpoint: CheckpointName): Promise<Arrival | null> {
    this.#lanes.push(checkpoint);
    return untilAt(this.#purchases, checkpoint, checkpoint);
  }

  /** Buys, and stops the worker that takes the order. @returns where; null as above. */
  async workerAt(checkpoint: CheckpointName): Promise<Arrival | null> {
    await armWorker(this.#redis, this.#ofWorker);
    this.#worker.watch(workerLane);
    this.#sent = this.#send(`${this.#ofWorker}-A`, {});
    const arrival = await untilAt(this.#worker, workerLane, checkpoint);
    await disarmWorker(this.#redis, this.#ofWorker);
    return arrival;
  }

  /** All go on. Resolves once they may; `answered` tells when every client has an answer. */
  async free(): Promise<{ answered: Promise<unknown> }> {
    await freeWorker(this.#redis, this.#ofWorker);
    const answered = this.#purchases.finish(this.#lanes, answeredWithinMs);
    return { answered: Promise.allSettled([answered, this.#sent]) };
  }
}

async function untilAt(
  lanes: Lanes,
  lane: string,
  checkpoint: CheckpointName,
): Promise<Arrival | null> {
  for (let checkpoints = 0; checkpoints < mostCheckpoints; checkpoints++) {
    await lanes.resume(lane);
    await lanes.settled(lane, arriveWithinMs);
    const state = lanes.state(lane);
    if (state?.kind !== 'paused') return null;
    if (state.arrival.checkpoint === checkpoint) return state.arrival;
  }
  return null;
}
