/** Faults of the network between the service and a server, made by the proxy before the server. */

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isConnectedTo } from '../environment/proxy/connection-owner.ts';
import type { Toxic } from '../environment/proxy/toxic.ts';
import { type ProxyName, proxyPort } from '../environment/servers/proxies.ts';
import { processNames } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { labError } from '../errors.ts';
import { shuffler } from '../workload/shuffle.ts';
import { type Fault, type FaultRow, isSpoiled, momentary, type WatchedFault } from './fault.ts';

/** Its undo lets everything pass again, and ends the connections that lost data. */
const spoiling = (what: string, name: ProxyName, toxic: Partial<Toxic>): WatchedFault => ({
  name: what,
  watch: isSpoiled(name),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, toxic);
    return () => network.spoil(name);
  },
});

/** Every answer of a server comes late. */
export const slowConnections = (name: ProxyName, latencyMs: number) =>
  spoiling(`slow ${name} by ${latencyMs} ms`, name, {
    type: 'latency',
    stream: 'downstream',
    latencyMs,
  });

/**
 * The network to a server drops everything: connections stay open, and neither side hears of the
 * other one, nor of its end.
 */
export const dropConnections = (name: ProxyName) =>
  spoiling(`drop ${name}`, name, { type: 'timeout' });

/** The same for one process: all others stay connected. */
export const dropForProcess = (name: ProxyName, pid: number, process = `process ${pid}`) =>
  spoiling(`drop ${name} for ${process}`, name, { type: 'timeout', pid });

/**
 * The processes of the service lose their network to a server one after the other, until none has
 * it, and get it back one after the other, in another order: a swizzle. The injection ends when
 * half of them are cut off, so that requests meet a network that some have and others have not.
 * Those that a drill needs in this half come first.
 * @param pauseMs from one process to the next
 */
export const cutOneByOne = (
  name: ProxyName,
  pauseMs: number,
  seed = 1,
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

/** The longest session that the lab's ZooKeeper allows, and a spare. */
const expiredWithinMs = 25_000;

/** ZooKeeper ends the session of one process, which hears nothing of it until it is connected. */
export const expireSession = (name: string): Fault =>
  momentary(`expire the ZooKeeper session of ${name}`, async (lab) => {
    const pid = lab.pidOf(name);
    lab.network('proxied');
    const port = lab.portOf('zookeeper');
    const proxy = proxyPort({ proxies: lab.portOf('proxies') }, 'zookeeper');
    if (!isConnectedTo(pid, proxy)) throw labError('NO_SESSION', name);
    const before = await zookeeperSessions(port);
    const undo = await dropForProcess('zookeeper', pid).inject(lab);
    try {
      await waitUntil('a session to expire', expiredWithinMs, async () => {
        const now = await zookeeperSessions(port);
        return before.some((session) => !now.includes(session));
      });
    } finally {
      await undo();
    }
  });

export const networkFaults = {
  slow: {
    hits: 'network',
    effect: 'lasting',
    done: { en: 'answers late', zh: '响应变慢' },
    on: slowConnections,
  },
  /**
   * What is sent to a server arrives late, also what a client had sent before it closed its
   * connection: as the kernel sends lost packets again. After the undo, requests that are on their
   * way still come late.
   */
  delay: {
    hits: 'network',
    effect: 'lasting',
    done: {
      en: 'gets every request late, also after its client has closed the connection',
      zh: '每个请求都晚到，即使客户端已经断开连接',
    },
    on: (name: ProxyName, latencyMs: number) =>
      spoiling(`delay requests to ${name} by ${latencyMs} ms`, name, {
        type: 'latency',
        stream: 'upstream',
        latencyMs,
      }),
  },
  drop: {
    hits: 'network',
    effect: 'lasting',
    done: {
      en: 'is cut off: connections stay open, and nothing arrives',
      zh: '网络已隔离：连接还在，但什么也收不到',
    },
    on: dropConnections,
  },
  reset: {
    hits: 'network',
    effect: 'lasting',
    done: { en: 'resets every connection', zh: '重置每个连接' },
    on: (name: ProxyName) => spoiling(`reset ${name}`, name, { type: 'reset_peer' }),
  },
  /** Although the server runs. */
  refuse: {
    hits: 'network',
    effect: 'lasting',
    done: { en: 'refuses every connection', zh: '拒绝每个连接' },
    on: (name: ProxyName) => spoiling(`refuse ${name}`, name, { type: 'down' }),
  },
  /** On their way back: a server has done what it was asked, and nobody hears of it. */
  'lose-answers': {
    hits: 'network',
    effect: 'lasting',
    on: (name: ProxyName) =>
      spoiling(`lose the answers of ${name}`, name, { type: 'timeout', stream: 'downstream' }),
  },
  'cut-one-by-one': { hits: 'network', effect: 'lasting', on: cutOneByOne },
  'expire-session': {
    hits: 'instance',
    effect: 'momentary',
    done: { en: 'has lost its session in ZooKeeper', zh: '的 ZooKeeper 会话已过期' },
    on: expireSession,
  },
} as const satisfies Record<string, FaultRow>;

/** The sessions that have a connection to the lab's ZooKeeper, by its command `cons`. */
export async function zookeeperSessions(port: number): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(5_000, () => socket.destroy(new Error('no answer in 5000 ms')));
  socket.write('cons');
  const connections = await text(socket);
  return [...connections.matchAll(/sid=(0x[0-9a-f]+)/g)].map(([, session = '']) => session);
}
