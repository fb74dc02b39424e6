/**
 * The network to a server drops everything: connections stay open, and neither side hears of the
 * other one, nor of its end. The undo ends the connections that lost data.
 */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { WatchedFault } from '../fault.ts';
import { isSpoiled } from '../watch.ts';

/** @param pid of the only process that is cut off; every process without it */
export const dropConnections = (
  name: ProxyName,
  pid?: number,
  process = `process ${pid}`,
): WatchedFault => ({
  name: pid === undefined ? `drop ${name}` : `drop ${name} for ${process}`,
  watch: isSpoiled(name),
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'timeout', ...(pid !== undefined && { pid }) });
    return () => network.spoil(name);
  },
});
