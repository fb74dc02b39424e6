/** ZooKeeper for a process: the session that is open now. One that is over is replaced when it is next needed. */
import type { Config } from '../config.ts';
import { ZookeeperSession } from './zookeeper-session.ts';

export class Zookeeper {
  readonly #servers: string;
  readonly #config: Config;
  readonly #onEnd: () => void;
  #session: ZookeeperSession;
  #isClosed = false;

  /** `onEnd` hears of sessions that ended by themselves. */
  constructor(servers: string, config: Config, onEnd: () => void) {
    this.#servers = servers;
    this.#config = config;
    this.#onEnd = onEnd;
    this.#session = this.#open();
  }

  session(): ZookeeperSession {
    if (this.#session.isOver) this.#session = this.#open();
    return this.#session;
  }

  /** Resolves once ZooKeeper has answered, or when `withinMs` is over: a server that is down must not block a start. */
  async ready(withinMs: number): Promise<void> {
    await this.session()
      .ask<unknown>((client, reply) => client.exists('/', reply), withinMs)
      .catch(() => {});
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#session.close();
  }

  #open(): ZookeeperSession {
    const session = new ZookeeperSession(this.#servers, this.#config);
    session.onEnd(() => this.#isClosed || this.#onEnd());
    return session;
  }
}
