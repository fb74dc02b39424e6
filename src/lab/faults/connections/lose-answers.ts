/**
 * Every answer of a server is lost on its way back: it has done what it was asked, and nobody hears
 * of it. The undo ends the connections that lost an answer.
 */
import type { ProxyName } from '../../environment/servers/proxies.ts';
import type { Fault } from '../fault.ts';

export const loseAnswers = (name: ProxyName): Fault => ({
  name: `lose the answers of ${name}`,
  async inject(lab) {
    const network = lab.network('proxied');
    await network.spoil(name, { type: 'timeout', stream: 'downstream' });
    return () => network.spoil(name);
  },
});
