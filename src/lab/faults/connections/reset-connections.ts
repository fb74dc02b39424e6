/** Connections to a server are reset, and each new one too. */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { Fault } from '../fault.ts';

export const resetConnections = (name: ProxyName): Fault => ({
  name: `reset ${name}`,
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'reset_peer' });
    return () => network.spoil(name);
  },
});
