/**
 * The network to a server drops everything: connections stay open, and neither side hears of the
 * other one, nor of its end. The undo ends the connections that lost data.
 */
import type { ProxyName } from '../environment/servers/proxies.ts';
import type { Fault } from './fault.ts';

/** @param pid of the only process that is cut off; every process without it */
export const dropConnections = (
  name: ProxyName,
  pid?: number,
  process = `process ${pid}`,
): Fault => ({
  name: pid === undefined ? `drop ${name}` : `drop ${name} for ${process}`,
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'timeout', ...(pid !== undefined && { pid }) });
    return () => network.spoil(name);
  },
});
