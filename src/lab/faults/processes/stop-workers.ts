/** Order workers are killed, and the next ones wait before they consume, until the undo. */
import type { Redis } from 'ioredis';
import type { Lab } from '../../environment/lab.ts';
import { withConnections } from '../../environment/lab-connections.ts';
import { workerNames } from '../../environment/servers/service.ts';
import { workersAway } from '../../environment/workers-away.ts';
import type { WatchedFault } from '../fault.ts';
import { ends } from '../watch.ts';

const kill = (name: string, workersOf: (lab: Lab) => readonly string[]): WatchedFault => ({
  name,
  async watch(lab) {
    const ended = await Promise.all(workersOf(lab).map((worker) => ends(worker)(lab)));
    return async () => (await Promise.all(ended.map((hasHit) => hasHit()))).every(Boolean);
  },
  async inject(lab) {
    const say = () =>
      inLabRedis(lab, (redis) => redis.set(workersAway.key, '1', 'EX', workersAway.keptSeconds));
    let saying = say();
    const again = () => {
      saying = say().catch(() => {});
    };
    const timer = setInterval(again, workersAway.keptSeconds * 300).unref();
    const undo = async () => {
      clearInterval(timer);
      await saying.catch(() => {}); // Else it may be set again.
      await inLabRedis(lab, (redis) => redis.del(workersAway.key));
    };
    try {
      await saying;
      for (const worker of workersOf(lab)) await lab.server(worker).kill();
    } catch (error) {
      await undo().catch(() => {});
      throw error;
    }
    return undo;
  },
});

/** All of them. */
export const stopWorkers = kill('stop the order workers', ({ shape }) => workerNames(shape));

/** This one: until the undo, only the others can have its orders. */
export const killWorker = (worker: string): WatchedFault => kill(`kill ${worker}`, () => [worker]);

const inLabRedis = (lab: Lab, send: (redis: Redis) => Promise<unknown>): Promise<unknown> =>
  withConnections(lab, async (connections) => {
    const redis = connections.labRedis();
    await connections.ready();
    return send(redis);
  });
