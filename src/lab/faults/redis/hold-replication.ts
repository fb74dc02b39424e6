/**
 * The replica copies a Redis, and then hears nothing more of it: what is written from now on is
 * only in the master. Pausing the replica would not do: once resumed, it reads what waits in its
 * connection.
 */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { WatchedFault } from '../fault.ts';
import { isSpoiled } from '../watch.ts';

export const holdReplication = (name: ProxyName): WatchedFault => ({
  name: `hold the replication of ${name}`,
  watch: isSpoiled('replication'),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.replicate(name);
    await network.spoil('replication', { type: 'timeout', stream: 'downstream' });
    return () => network.heal();
  },
});
