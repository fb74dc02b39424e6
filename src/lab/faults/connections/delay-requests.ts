/**
 * What is sent to a server arrives late, also what a client had sent before it closed its
 * connection: as the kernel sends lost packets again. The undo lets new requests pass; those on
 * their way still come late.
 */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { WatchedFault } from '../fault.ts';
import { isSpoiled } from '../watch.ts';

export const delayRequests = (name: ProxyName, latencyMs: number): WatchedFault => ({
  name: `delay requests to ${name} by ${latencyMs} ms`,
  watch: isSpoiled(name),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'latency', stream: 'upstream', latencyMs });
    return () => network.spoil(name);
  },
});
