/** What one clause has while it runs: the masters, and contenders that are closed after it. */

import { TcpProxy } from '../../src/lab/environment/proxy/tcp-proxy.ts';
import { within } from './ask.ts';
import type { Masters } from './masters.ts';
import type { Contender, Grant, Subject, Terms } from './subject.ts';

/** A package that has not ended an acquire by then will not. */
const endLimitMs = 4_000;
const closeLimitMs = 1_000;

export class Field {
  readonly masters: Masters;
  readonly #closers: (() => unknown)[] = [];
  readonly #acquires: Promise<Grant | null>[] = [];

  constructor(masters: Masters) {
    this.masters = masters;
  }

  /**
   * A contender that has acquired and released a lock once: it is connected, and Redis has its
   * scripts.
   */
  async contender(
    subject: Subject,
    terms: Terms,
    proxies?: readonly TcpProxy[],
  ): Promise<Contender> {
    const ports = proxies?.map(({ port }) => port) ?? this.masters.ports;
    const urls = ports.map((port) => `redis://127.0.0.1:${port}`);
    const opened = await subject.open(urls, terms);
    this.#closers.push(() => opened.close());
    const contender = { ...opened, acquire: (resource: string) => this.#noted(opened, resource) };
    const grant = await contender.acquire(`warm-up-${ports[0]}-${this.#closers.length}`);
    await grant?.release();
    return contender;
  }

  contenders(subject: Subject, terms: Terms, count: number): Promise<Contender[]> {
    return Promise.all(Array.from({ length: count }, () => this.contender(subject, terms)));
  }

  /** One proxy in front of each master. */
  async proxies(): Promise<TcpProxy[]> {
    const proxies = this.masters.ports.map((port) => new TcpProxy(0, port));
    this.#closers.push(...proxies.map((proxy) => () => proxy.close()));
    await Promise.all(proxies.map((proxy) => proxy.listen()));
    return proxies;
  }

  /**
   * Mends the masters and ends what was begun before it disconnects: else a lock of this clause
   * would go on into the next one.
   */
  async close(): Promise<void> {
    await this.masters.mend();
    const ends = this.#acquires.splice(0).map(async (acquiring) => {
      const grant = await acquiring;
      await grant?.release();
    });
    await within(endLimitMs, Promise.allSettled(ends), () => null);
    for (const close of this.#closers.splice(0).reverse())
      await within(closeLimitMs, Promise.resolve(close()), () => null);
    await this.masters.mend();
  }

  #noted(contender: Contender, resource: string): Promise<Grant | null> {
    const acquiring = contender.acquire(resource);
    this.#acquires.push(acquiring);
    return acquiring;
  }
}
