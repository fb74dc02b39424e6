/**
 * A Redis is killed, and its replica becomes the master with what it has; clients reach the replica
 * by the old address. The undo gives the place and the replica's data to the old master.
 */
import type { ProxyName } from '../environment/servers/proxies.ts';
import type { Fault } from './fault.ts';

export const promoteReplica = (name: ProxyName): Fault => ({
  name: `promote the replica of ${name}`,
  async inject(lab) {
    const network = lab.network('proxied');
    await lab.server(name).kill();
    await network.promoteReplica(name);
    return async () => {
      await lab.server(name).start();
      await network.heal();
    };
  },
});
