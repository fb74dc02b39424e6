/**
 * ZooKeeper ends the session of one process, which hears nothing of it until its network is back.
 */

import { isConnectedTo } from '../../environment/proxy/connection-owner.ts';
import { proxyPort } from '../../environment/servers/proxies.ts';
import { waitUntil } from '../../environment/wait-until.ts';
import { zookeeperSessions } from '../../environment/zookeeper-sessions.ts';
import { labError } from '../../errors.ts';
import type { Fault } from '../fault.ts';
import { dropConnections } from './drop-connections.ts';

/** The longest session that the lab's ZooKeeper allows, and a spare. */
const expiredWithinMs = 25_000;

export const expireSession = (pid: number, process = `process ${pid}`): Fault => ({
  name: `expire the ZooKeeper session of ${process}`,
  async inject(lab) {
    lab.network('proxied');
    const port = lab.portOf('zookeeper');
    const proxy = proxyPort({ proxies: lab.portOf('proxies') }, 'zookeeper');
    if (!isConnectedTo(pid, proxy)) throw labError('NO_SESSION', process);
    const before = await zookeeperSessions(port);
    const undo = await dropConnections('zookeeper', pid).inject(lab);
    try {
      await waitUntil('a session to expire', expiredWithinMs, async () => {
        const now = await zookeeperSessions(port);
        return before.some((session) => !now.includes(session));
      });
    } finally {
      await undo();
    }
    return async () => {};
  },
});
