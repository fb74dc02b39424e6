/**
 * The contract of every fault: it breaks something in the lab, and knows how to mend it. And what
 * is seen of it from outside: its process, or the connections of its proxy.
 */

import type { Bilingual } from '../../texts/texts.ts';
import type { Lab } from '../environment/lab.ts';
import { isAlive, isPaused, processRef } from '../environment/process-table.ts';
import type { ProxyName } from '../environment/servers/proxies.ts';

/** Mends what the fault broke, and resolves once the lab is whole again. */
export type Undo = () => Promise<void>;

/** True when the fault that should have happened since then has happened. */
export type HasHit = () => Promise<boolean> | boolean;

export interface Fault {
  /** For people: `kill process 4711`. */
  readonly name: string;
  inject(lab: Lab): Promise<Undo>;
}

/** It happens, and there is nothing to mend afterwards. */
export const momentary = (name: string, happen: (lab: Lab) => Promise<unknown>): Fault => ({
  name,
  async inject(lab) {
    await happen(lab);
    return async () => {};
  },
});

/**
 * A fault whose effect is seen from outside, and not by its own word: a race that a fault did not
 * hit proves nothing. `watch` comes before `inject`.
 */
export interface WatchedFault extends Fault {
  watch(lab: Lab): Promise<HasHit> | HasHit;
}

/**
 * What a fault breaks, each by its name in the lab. A process is a server, nginx, an instance or an
 * order worker. `network` is the connections to a server, which need not run; `replication` is that
 * of a Redis behind a proxy.
 */
type Hits =
  | Hit<'process' | 'instance' | 'worker' | 'redis' | 'database' | 'nginx', string>
  | Hit<'network', ProxyName>
  | Hit<'replication', ProxyName>;
interface Hit<Place, Name> {
  readonly hits: Place;
  readonly on: (name: Name, ms: number) => Fault;
}

/** A fault that needs no more than the name of what it hits, and perhaps a time. */
export type FaultRow = Hits & {
  /** For people, after the name of what it hit. Only with it, `lockstep fault` has this verb. */
  readonly done?: Bilingual;
  /**
   * `momentary`: it has happened, and is over. `lasting`: where it is there already, it changes
   * nothing. Without it, it can be done again and again.
   */
  readonly effect?: 'momentary' | 'lasting';
};

export type Watch = WatchedFault['watch'];

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
  (lab) =>
  () =>
    isPaused({ pid: lab.pidOf(name) });

/** Its proxy will have spoiled a connection at least. */
export const isSpoiled =
  (name: ProxyName): Watch =>
  (lab) =>
  async () =>
    (await lab.network('proxied').spoiled(name)) > 0;
