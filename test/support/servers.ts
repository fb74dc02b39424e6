/**
 * Servers of a test's own, on loopback ports of this worker's own: other files run at the same
 * time.
 */

import { rmSync } from 'node:fs';
import { connect } from 'amqplib';
import { inject, onTestFinished } from 'vitest';
import { OwnRedis, type OwnRedisOptions, OwnServer } from '../../src/lab/environment/own-redis.ts';
import { freePorts, takeName } from '../../src/lab/environment/ports.ts';
import { rabbitmqServers, rabbitmqUrl } from '../../src/lab/environment/servers/rabbitmq.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { someFolder } from './basics.ts';
import { newDataFolder } from './data-home.ts';

/** VITEST_POOL_ID is the same for two workers, once another project has run before. */
async function freeNumber(): Promise<number> {
  let taken = 0;
  await waitUntil('an earlier worker to end', 60_000, async () => {
    for (let number = 1; number <= inject('workers') && taken === 0; number++)
      if (await takeName(`test worker ${number} in ${process.cwd()}`)) taken = number;
    return taken > 0;
  });
  return taken;
}

/** The number of this worker, from 1 on. No other process has it while this one lives. */
export const worker = await freeNumber();
const portsOfWorker = 1_600;

/**
 * The first of `count` in a row, above those of the labs. A killed server finds its port free
 * again.
 */
export const ownPorts = (preferred: number, count = 1): Promise<number> =>
  freePorts(preferred + worker * portsOfWorker, count);

/** It ends with the test. */
export async function startOwn<Own extends OwnServer>(server: Own): Promise<Own> {
  onTestFinished(() => server.end());
  await server.start();
  return server;
}

export async function startOwnRedis(
  settings: OwnRedisOptions['settings'] = {},
  more: Pick<OwnRedisOptions, 'access' | 'answers'> = {},
): Promise<OwnRedis> {
  const place = { folder: someFolder(), port: await ownPorts(19_300) };
  return startOwn(new OwnRedis({ ...place, settings, ...more }));
}

/** One after the other: each takes the next free port. */
export async function startOwnRedises(
  count: number,
  settings: OwnRedisOptions['settings'] = {},
): Promise<OwnRedis[]> {
  const servers: OwnRedis[] = [];
  while (servers.length < count) servers.push(await startOwnRedis(settings));
  return servers;
}

/** Of a test file's own: no order worker of the lab consumes its queues. */
export interface OwnRabbitmq {
  readonly url: string;
  readonly broker: OwnServer;
  /** So that the next use declares the queues again. */
  deleteQueues(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnRabbitmq(): Promise<OwnRabbitmq> {
  const folder = newDataFolder();
  const port = await ownPorts(19_400, 3);
  const programs = rabbitmqServers(folder, port).map(
    (server) => new OwnServer(server, { withinMs: 60_000, everyMs: 200 }),
  );
  const broker = programs.at(-1);
  if (!broker) throw new RangeError('RabbitMQ is two programs');
  for (const program of programs) await program.start();
  return {
    url: rabbitmqUrl(port),
    broker,
    async deleteQueues() {
      const connection = await connect(rabbitmqUrl(port));
      const channel = await connection.createChannel();
      for (const queue of ['lockstep.orders', 'lockstep.orders.dead'])
        await channel.deleteQueue(queue);
      await connection.close();
    },
    async stop() {
      for (const program of programs.toReversed()) await program.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
