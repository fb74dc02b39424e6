/**
 * RabbitMQ for a process: one connection, which comes back by itself. Its channels end with it, so
 * each user opens its own again after every reconnect.
 */
import { type ChannelModel, connect, type RecoveringChannelModel } from 'amqplib';

/** Twice without an answer, and the connection is taken for dead. */
const heartbeatSeconds = 2;
const answerMs = 2_000;
const attempts = ['connect', 'connect-failed'] as const;
const reconnect = { initialDelay: 100, maxDelay: 1_000, waitForConnect: false } as const;

export type OpenChannels = (model: ChannelModel) => Promise<void>;

export class Rabbitmq {
  readonly #url: string;
  readonly #users = new Set<OpenChannels>();
  readonly #onError: (error: Error) => void;
  #connection: Promise<RecoveringChannelModel> | undefined;
  #model: ChannelModel | undefined;

  /** `onError` is told when the connection is lost, and once while it cannot be opened. */
  constructor(url: string, onError: (error: Error) => void) {
    this.#url = url;
    this.#onError = onError;
  }

  get isConnected(): boolean {
    return this.#model !== undefined;
  }

  /**
   * Opens the channels now, and after every reconnect. Connects at the first call. Resolves once
   * they are open or the server did not answer: one that is down must not block a start.
   */
  async use(open: OpenChannels): Promise<void> {
    this.#users.add(open);
    if (this.#model) await open(this.#model).catch(this.#onError);
    else await this.#attempted(await this.#connect());
  }

  leave(open: OpenChannels): void {
    this.#users.delete(open);
  }

  async close(): Promise<void> {
    this.#users.clear();
    await this.#connection?.then((connection) => connection.close()).catch(() => {});
  }

  #connect(): Promise<RecoveringChannelModel> {
    if (this.#connection) return this.#connection;
    const address = new URL(this.#url);
    address.searchParams.set('heartbeat', String(heartbeatSeconds));
    const setup = (model: ChannelModel) => this.#open(model);
    this.#connection = connect(address.href, {
      timeout: answerMs,
      noDelay: true,
      recovery: { ...reconnect, setup },
    });
    this.#connection.then((connection) => this.#watch(connection), this.#onError);
    return this.#connection;
  }

  async #attempted(connection: RecoveringChannelModel): Promise<void> {
    if (this.#model) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, 2 * answerMs);
      const settle = () => {
        clearTimeout(timer);
        for (const event of attempts) connection.off(event, settle);
        resolve();
      };
      for (const event of attempts) connection.on(event, settle);
    });
  }

  async #open(model: ChannelModel): Promise<void> {
    model.on('error', this.#onError); // While the channels open, nothing else listens for it.
    for (const open of this.#users) await open(model);
    this.#model = model;
  }

  #watch(connection: RecoveringChannelModel): void {
    let isReported = false;
    const report = (error: Error) => {
      if (!isReported) this.#onError(error);
      isReported = true;
    };
    connection.on('connect', () => {
      isReported = false;
    });
    connection.on('disconnect', (error) => {
      this.#model = undefined;
      report(error);
    });
    connection.on('connect-failed', report);
    connection.on('error', report);
  }
}
