/**
 * ZooKeeper for a process: the present session. A session that is over is replaced at the next use.
 */
import { type ZookeeperOptions, ZookeeperSession } from './zookeeper-session.ts';

export class Zookeeper {
  readonly #servers: string;
  readonly #options: ZookeeperOptions;
  readonly #onEnd: () => void;
  #session: ZookeeperSession;
  #isClosed = false;

  /** `onEnd` is called when a session ended by itself. */
  constructor(servers: string, options: ZookeeperOptions, onEnd: () => void) {
    this.#servers = servers;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#session = this.#open();
  }

  session(): ZookeeperSession {
    if (this.#session.isOver) this.#session = this.#open();
    return this.#session;
  }

  /**
   * Resolves once ZooKeeper has answered, or after `withinMs`: a server that is down must not block
   * a start.
   */
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
    const session = new ZookeeperSession(this.#servers, this.#options);
    session.onEnd(() => this.#isClosed || this.#onEnd());
    return session;
  }
}
