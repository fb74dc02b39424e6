/**
 * A Redis is killed, and its replica becomes the master with what it has; clients reach the replica
 * by the old address. The undo gives the place and the replica's data to the old master.
 */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { WatchedFault } from '../fault.ts';
import { ends } from '../watch.ts';

export const promoteReplica = (name: ProxyName): WatchedFault => ({
  name: `promote the replica of ${name}`,
  async watch(lab) {
    const ended = await ends(name)(lab);
    return async () => (await ended()) && lab.network('proxied').isReplaced(name);
  },
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
