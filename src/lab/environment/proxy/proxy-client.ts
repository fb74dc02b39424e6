/** Talks to the process of the proxies. */
import { labError } from '../../errors.ts';
import type { ProxyName } from '../servers/proxies.ts';
import type { ProxyState, Toxic } from './toxic.ts';

const answersWithinMs = 5_000;

export interface ProxyChange {
  /** All toxics of this proxy: those that it had are gone. */
  readonly toxics: readonly Partial<Toxic>[];
  /** The server that clients reach from now on; the same as before without it. */
  readonly upstreamPort?: number;
}

export class ProxyClient {
  readonly #url: string;

  constructor(controlPort: number) {
    this.#url = `http://127.0.0.1:${controlPort}/proxies`;
  }

  /** @throws PROXY_REFUSED */
  async state(): Promise<Record<ProxyName, ProxyState>> {
    const answer = await ask('any server', this.#url);
    return (await answer.json()) as Record<ProxyName, ProxyState>;
  }

  /** @throws PROXY_REFUSED */
  async change(name: ProxyName, change: ProxyChange): Promise<void> {
    await ask(name, `${this.#url}/${name}`, {
      method: 'PUT',
      body: JSON.stringify(change),
      headers: { 'content-type': 'application/json' },
    });
  }
}

async function ask(name: string, url: string, request: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(answersWithinMs); // Paused proxies do not answer.
  const answer = await fetch(url, { ...request, signal }).catch((cause: unknown) => {
    throw labError('PROXY_REFUSED', name, 'nothing').causedBy(cause);
  });
  if (!answer.ok) throw labError('PROXY_REFUSED', name, answer.status);
  return answer;
}
