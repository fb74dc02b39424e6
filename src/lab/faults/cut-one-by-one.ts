/**
 * The processes of the service lose their network to a server one after the other, until none has
 * it, and get it back one after the other, in another order: a swizzle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../environment/lab.ts';
import type { ProxyName } from '../environment/servers/proxies.ts';
import { processNames } from '../environment/servers/service.ts';
import { shuffler } from '../workload/shuffle.ts';
import type { Fault } from './fault.ts';

/** @param pauseMs from one process to the next */
export const cutOneByOne = (name: ProxyName, seed: number, pauseMs: number): Fault => ({
  name: `cut the processes from ${name} one by one`,
  async inject(lab) {
    const shuffle = shuffler(seed);
    const pids = processNames(lab.shape).map((each) => lab.pidOf(each));
    const cut = new Set<number>();
    for (const pid of shuffle(pids)) {
      await spoilFor(lab, name, cut.add(pid));
      await sleep(pauseMs);
    }
    return async () => {
      for (const pid of shuffle([...cut])) {
        cut.delete(pid);
        await spoilFor(lab, name, cut);
        await sleep(pauseMs);
      }
    };
  },
});

const spoilFor = (lab: Lab, name: ProxyName, pids: ReadonlySet<number>): Promise<void> =>
  lab
    .network('proxied')
    .spoil(name, ...[...pids].map((pid) => ({ type: 'timeout', pid }) as const));
