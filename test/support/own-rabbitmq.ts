/** A RabbitMQ of a test file's own, which no order worker of the lab consumes. */
import { rmSync } from 'node:fs';
import { connect } from 'amqplib';
import type { ProcessRef } from '../../src/lab/environment/process-table.ts';
import {
  killWithChildren,
  pauseWithChildren,
  signalProcess,
  startProcess,
} from '../../src/lab/environment/processes.ts';
import { rabbitmqServers, rabbitmqUrl } from '../../src/lab/environment/servers/rabbitmq.ts';
import { waitUntil } from '../../src/lab/environment/wait-until.ts';
import { newDataFolder } from './data-home.ts';
import { ownPorts } from './own-ports.ts';

export interface OwnRabbitmq {
  readonly url: string;
  /** Kills it, and starts it with its data. */
  restart(): Promise<void>;
  /** With SIGSTOP: its connections stay open, and nothing is answered. */
  pause(): Promise<void>;
  resume(): void;
  /** So that the next use declares the queues again. */
  deleteQueues(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnRabbitmq(): Promise<OwnRabbitmq> {
  const folder = newDataFolder();
  const port = await ownPorts(19_400, 3);
  const [epmd, rabbitmq] = rabbitmqServers(folder, port);
  if (!epmd || !rabbitmq) throw new RangeError('RabbitMQ is two programs');
  const start = async (server: typeof epmd): Promise<ProcessRef> => {
    await server.prepare?.();
    const ref = startProcess(server.program());
    await waitUntil(`${server.name} of its own`, 60_000, server.answers, 200);
    return ref;
  };
  const epmdRef = await start(epmd);
  let ref = await start(rabbitmq);
  return {
    url: rabbitmqUrl(port),
    async restart() {
      await killWithChildren(ref);
      ref = await start(rabbitmq);
    },
    pause: () => pauseWithChildren(ref),
    resume: () => signalProcess(ref, 'SIGCONT'),
    async deleteQueues() {
      const connection = await connect(rabbitmqUrl(port));
      const channel = await connection.createChannel();
      for (const queue of ['lockstep.orders', 'lockstep.orders.dead'])
        await channel.deleteQueue(queue);
      await connection.close();
    },
    async stop() {
      for (const each of [ref, epmdRef]) await killWithChildren(each);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
