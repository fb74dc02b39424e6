/** Every order worker is killed, and the next ones wait before they consume, until the undo. */
import type { Redis } from 'ioredis';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { workerNames } from '../environment/servers/service.ts';
import { workersAway } from '../environment/workers-away.ts';
import type { Fault } from './fault.ts';

export const stopWorkers: Fault = {
  name: 'stop the order workers',
  async inject(lab) {
    await inLabRedis(lab, (redis) =>
      redis.set(workersAway.key, '1', 'EX', workersAway.keptSeconds),
    );
    for (const name of workerNames(lab.shape)) await lab.server(name).kill();
    return async () => {
      await inLabRedis(lab, (redis) => redis.del(workersAway.key));
    };
  },
};

const inLabRedis = (lab: Lab, send: (redis: Redis) => Promise<unknown>): Promise<unknown> =>
  withConnections(lab, async (connections) => {
    const redis = connections.labRedis();
    await connections.ready();
    return send(redis);
  });
