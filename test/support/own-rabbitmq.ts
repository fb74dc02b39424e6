/** A RabbitMQ of a test file's own, which no order worker of the lab consumes. */
import { rmSync } from 'node:fs';
import { connect } from 'amqplib';
import { OwnServer } from '../../src/lab/environment/own-redis.ts';
import { rabbitmqServers, rabbitmqUrl } from '../../src/lab/environment/servers/rabbitmq.ts';
import { newDataFolder } from './data-home.ts';
import { ownPorts } from './own-ports.ts';

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
