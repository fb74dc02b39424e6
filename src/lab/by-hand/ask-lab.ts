/** Asks the experiment that has the lab for a fault. */
import type { Lab } from '../environment/lab.ts';
import { withRedis } from '../environment/replication.ts';
import { type AskedFault, acceptsFaults, askFault } from './asked-faults.ts';

/** @returns what was done; null when no experiment takes faults. @throws the error it answered */
export const askLab = (lab: Lab, asked: AskedFault): Promise<string | null> =>
  withRedis(lab.portOf('redis-lab'), async (redis) =>
    (await acceptsFaults(redis)) ? askFault(redis, asked) : null,
  );
