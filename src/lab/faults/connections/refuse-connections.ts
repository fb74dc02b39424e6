/** Connections to a server end, and each new one is refused, although the server runs. */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { Fault } from '../fault.ts';

export const refuseConnections = (name: ProxyName): Fault => ({
  name: `refuse ${name}`,
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'down' });
    return () => network.spoil(name);
  },
});
