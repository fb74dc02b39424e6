/**
 * The processes of the service lose their network to a server one after the other, until none has
 * it, and get it back one after the other, in another order: a swizzle. The injection ends when
 * half of them are cut off, so that requests meet a network that some have and others have not.
 * Those that a drill needs in this half come first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Toxic } from '../../environment/proxy/toxic.ts';
import type { ProxyName } from '../../environment/servers/proxies.ts';
import { processNames } from '../../environment/servers/service.ts';
import { shuffler } from '../../workload/shuffle.ts';
import type { Fault } from '../fault.ts';

/** @param pauseMs from one process to the next */
export const cutOneByOne = (
  name: ProxyName,
  seed: number,
  pauseMs: number,
  first: readonly number[] = [],
): Fault => ({
  name: `cut the processes from ${name} one by one`,
  async inject(lab) {
    const network = lab.network('proxied');
    const shuffle = shuffler(seed);
    const all = shuffle(processNames(lab.shape).map((each) => lab.pidOf(each)));
    const pids = [...new Set([...all.filter((pid) => first.includes(pid)), ...all])];
    const half = Math.max(Math.ceil(pids.length / 2), first.length);
    const cut = new Set<number>();
    const oneByOne = async (some: readonly number[], change: (pid: number) => void) => {
      for (const pid of some) {
        change(pid);
        await network.spoil(name, ...[...cut].map(dropFor));
        await sleep(pauseMs);
      }
    };
    await oneByOne(pids.slice(0, half), (pid) => cut.add(pid));
    return async () => {
      await oneByOne(pids.slice(half), (pid) => cut.add(pid));
      await oneByOne(shuffle(pids), (pid) => cut.delete(pid));
    };
  },
});

const dropFor = (pid: number): Partial<Toxic> => ({ type: 'timeout', pid });
