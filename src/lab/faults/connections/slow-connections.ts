/** Every answer of a server comes late. The undo makes it as fast as before. */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { WatchedFault } from '../fault.ts';
import { isSpoiled } from '../watch.ts';

export const slowConnections = (name: ProxyName, latencyMs: number): WatchedFault => ({
  name: `slow ${name} by ${latencyMs} ms`,
  watch: isSpoiled(name),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'latency', stream: 'downstream', latencyMs });
    return () => network.spoil(name);
  },
});
