/** What is seen of a fault from outside: its process, or the connections of its proxy. */
import type { Lab } from '../environment/lab.ts';
import { isAlive, isPaused, processRef } from '../environment/process-table.ts';
import type { ProxyName } from '../environment/servers/proxies.ts';
import type { HasHit, WatchedFault } from './fault.ts';

type Watch = WatchedFault['watch'];

/** The process that the server has now will have ended. */
export const ends =
  (name: string): Watch =>
  (lab) =>
    hasEnded(lab.pidOf(name));

export function hasEnded(pid: number): HasHit {
  const before = processRef(pid);
  return () => before !== null && !isAlive(before);
}

/** Another process will run in its place, also where none runs now. */
export const isReplaced =
  (name: string): Watch =>
  (lab) => {
    const before = processRef(lab.pidOf(name));
    return () => {
      const now = processRef(lab.pidOf(name));
      return now !== null && now.startedAt !== before?.startedAt;
    };
  };

/** It will stand still. */
export const standsStill =
  (name: string): Watch =>
  (lab: Lab) =>
  () =>
    isPaused({ pid: lab.pidOf(name) });

/** Its proxy will have spoiled a connection at least. */
export const isSpoiled =
  (name: ProxyName | 'replication'): Watch =>
  (lab: Lab) =>
  async () =>
    (await lab.network('proxied').spoiled(name)) > 0;
