/** The proxy of the lab's faults before a server of a test, and short words for its toxics. */
import { onTestFinished } from 'vitest';
import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import type { Toxic } from '../../src/lab/environment/proxy/toxic.ts';

export class TestProxy extends TcpProxy {
  readonly #server: URL;

  constructor(server: URL) {
    super(0, Number(server.port));
    this.#server = server;
  }

  /** That of the server, but for the port. */
  get url(): string {
    return Object.assign(new URL(this.#server), { port: String(this.port) }).href;
  }

  /**
   * From now on, the next answer is swallowed and its connection cut.
   * @param asked a word of the request: answers on connections that have not sent it since are
   *   passed on. Without it, an answer that another client still waits for may be the next one.
   */
  swallowNextAnswer(asked?: string): void {
    this.#set({ type: 'swallow', asked });
  }

  /** From now on, connections are cut as soon as they are made; those that there are, too. */
  cut(): void {
    this.#set({ type: 'reset_peer' });
  }

  /** From now on, nothing passes, and nobody is told. */
  hold(): void {
    this.#set({ type: 'timeout' });
  }

  /**
   * The connections that there are freeze: they stay open, nothing passes, and neither end hears
   * when the other one closes. New connections work, as after a failover behind one address. What
   * was sent meanwhile arrives with `thaw`: packets that were lost are sent again.
   */
  freeze(): void {
    const requests: Toxic = { type: 'keep', stream: 'upstream', onlyOpen: true };
    this.#set(requests, { type: 'timeout', stream: 'downstream', onlyOpen: true });
  }

  /** Passes everything on again. */
  mend(): void {
    this.#set();
  }

  #set(...toxics: readonly Toxic[]): void {
    void this.setToxics(toxics); // At once: only a proxy that was closed would have to listen.
  }
}

/** Until the test is over. @param server its URL, or its port on this machine */
export async function proxyBefore(
  server: string | number,
  ...toxics: readonly Toxic[]
): Promise<TestProxy> {
  const url = typeof server === 'number' ? `redis://127.0.0.1:${server}` : server;
  const proxy = new TestProxy(new URL(url));
  await proxy.setToxics(toxics);
  onTestFinished(() => proxy.close());
  return proxy;
}
