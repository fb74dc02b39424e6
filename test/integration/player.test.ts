/** The player against a service that is played here: lanes arrive at checkpoints, and wait. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { type Arrival, laneKeys, workerLane } from '../../src/lab/stage/lane-messages.ts';
import { Player } from '../../src/lab/stage/player.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { CheckpointName } from '../../src/service/trace/checkpoints.ts';
import { quietRedis, readyConnections } from '../support/connections.ts';

let redis: Redis;
let blocking: Redis;
let events: string[];
let interruption: AbortController;
let player: Player;
const limits = { withinMs: 2_000 };

beforeEach(async () => {
  const connections = await readyConnections({ REDIS_URL: quietRedis() });
  redis = connections.redis('admin');
  blocking = connections.newRedis('pause');
  await waitUntil('the service', 20_000, () => blocking.status === 'ready');
  events = [];
  interruption = new AbortController();
  const emit: ConstructorParameters<typeof Player>[0]['emit'] = (event) => {
    if (event.kind === 'lane') events.push(`${event.lane} ${event.is}`);
  };
  player = new Player({ redis, emit, signal: interruption.signal });
  return () => blocking.disconnect();
});

/** What the service does when a lane comes to a checkpoint. */
async function arrive(lane: string, checkpoint: CheckpointName): Promise<void> {
  const at = String(process.hrtime.bigint());
  const arrival: Arrival = { lane, checkpoint, instance: 'api-1', pid: 1, at };
  await redis.rpush(laneKeys.arrivals(player.id), JSON.stringify(arrival));
}
const resumed = (lane: string) => blocking.blpop(laneKeys.resume(player.id, lane), 5);
const answer = { outcome: 'accepted', orderId: '9' } as Attempt;

/** A request that stops at these checkpoints. */
async function request(lane: string, ...checkpoints: CheckpointName[]): Promise<Attempt> {
  for (const checkpoint of checkpoints) {
    await arrive(lane, checkpoint);
    await resumed(lane);
  }
  return answer;
}

describe('a lane with a request', () => {
  test('runs from checkpoint to checkpoint to the one that is wanted, then to its answer', async () => {
    player.add('A', () => request('A', 'after-check', 'before-commit', 'before-release'));
    const there = await player.to('A', ['before-commit'], limits);
    expect(there).toMatchObject({ kind: 'paused', arrival: { checkpoint: 'before-commit' } });
    expect(await player.to('A', ['answer'], limits)).toEqual({ kind: 'answered', attempt: answer });
    expect(player.stops.map(({ checkpoint }) => checkpoint)).toEqual([
      ...['after-check', 'before-commit', 'before-release'],
    ]);
    expect(events.filter((each) => each === 'A paused')).toHaveLength(3);
  });

  test('that was answered is paused nowhere, whatever arrives late', async () => {
    player.add('A', async () => answer);
    await player.to('A', ['answer'], limits);
    await arrive('A', 'after-check');
    expect(await player.settles('A', 100)).toBe(true);
    expect(player.state('A')).toEqual({ kind: 'answered', attempt: answer });
  });

  test('that does not arrive in time is slow', async () => {
    player.add('A', async () => sleep(3_000, answer));
    const slow = await player.to('A', ['after-check'], { withinMs: 100 });
    expect(slow).toEqual({ kind: 'slow' });
  });

  test('is not waited for after an interruption', async () => {
    player.add('A', () => new Promise(() => {}));
    const going = player.to('A', ['answer'], { withinMs: 60_000 });
    interruption.abort(new Error('interrupted'));
    await expect(going).rejects.toThrow('interrupted');
  });
});

describe('the lane of a worker', () => {
  test('that arrived before anybody looked is not sent on', async () => {
    await player.armWorker();
    await arrive(workerLane, 'delivered');
    await player.settles(workerLane, 1_000);
    const there = await player.to(workerLane, ['delivered'], limits);
    expect(there).toMatchObject({ kind: 'paused', arrival: { checkpoint: 'delivered' } });
    expect(await redis.exists(laneKeys.resume(player.id, workerLane))).toBe(0);
  });

  test('still stands when it is armed a second time', async () => {
    await player.armWorker();
    await arrive(workerLane, 'delivered');
    await player.to(workerLane, ['delivered'], limits);
    await player.disarmWorker();
    await player.armWorker();
    expect(player.state(workerLane)).toMatchObject({ kind: 'paused' });
    const worker = resumed(workerLane).then(() => arrive(workerLane, 'recorded'));
    const lane = player.lane(workerLane, 2_000);
    expect(await lane.until('recorded')).toMatchObject({ checkpoint: 'recorded' });
    await worker;
  });

  test('that does not come is a deadline for a caller that must have it', async () => {
    await player.armWorker();
    const lane = player.lane(workerLane, 100);
    await expect(lane.until('delivered')).rejects.toThrow('W to be at delivered');
  });
});

test('in the end no lane stands, and no worker is stopped any more', async () => {
  player.add('A', () => request('A', 'after-check'));
  await player.armWorker();
  await player.to('A', ['after-check'], limits);
  await player.freeAll();
  await player.finish(2_000);
  expect(player.state('A')).toMatchObject({ kind: 'answered' });
  expect(await redis.exists(laneKeys.armed(player.id))).toBe(0);
  expect(await redis.llen(laneKeys.resume(player.id, workerLane))).toBe(1);
});
