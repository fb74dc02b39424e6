/** ZooKeeper for a process: its session, and the client below that. */
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Client, Event, Exception } from 'node-zookeeper-client';
import { isServiceError, serviceError } from '../errors.ts';

/** The present session. One that is over is replaced at the next use. */
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

export interface ZookeeperOptions {
  /** How long one answer may take, in milliseconds. */
  readonly answerMs: number;
  /**
   * How long ZooKeeper keeps the nodes of a process that it does not hear from, in milliseconds.
   */
  readonly sessionMs: number;
}

export type Reply<T> = (error: Error | Exception | null, value: T) => void;

/**
 * The client reports an expired session only once it has reached the server again; disconnected, it
 * never does. So the session keeps its own clock: it is valid for its timeout from the moment the
 * last answered request was *sent*, since the server heard of the process no earlier than that.
 */
export class ZookeeperSession {
  /** Emits the path of a removed node; at the end of the session, every path with a listener. */
  readonly removals = new EventEmitter().setMaxListeners(0);
  /**
   * One function for every watch: the client calls the same function once, however many requests
   * wait for a node. It announces in the next turn, because an answer that arrived with the event
   * resolves its promise only after the client has told both.
   */
  readonly announceRemoval = (event: Event) =>
    void setImmediate(() => this.removals.emit(event.getPath()));
  readonly #client: Client;
  readonly #connection: ClientConnection;
  readonly #answerMs: number;
  readonly #timeoutMs: number;
  readonly #ends = new EventEmitter().setMaxListeners(0);
  readonly #heartbeats: NodeJS.Timeout;
  #watchdog: NodeJS.Timeout;
  /** By performance.now(). */
  #validUntil: number;
  #isOver = false;
  #isBeating = false;

  constructor(servers: string, { answerMs, sessionMs }: ZookeeperOptions) {
    this.#answerMs = answerMs;
    this.#timeoutMs = sessionMs;
    this.#connection = openClient(servers, this.#timeoutMs);
    this.#client = this.#connection.client;
    // The client sets its watches again, and ZooKeeper tells it of what they missed.
    this.#client.on('connected', () => void this.#beat());
    this.#client.on('expired', () => this.#end());
    this.#validUntil = performance.now() + this.#timeoutMs;
    this.#watchdog = setTimeout(() => this.#watch(), this.#timeoutMs).unref();
    this.#heartbeats = setInterval(() => void this.#beat(), this.#timeoutMs / 6).unref();
  }

  /** True once the session has ended, or may have: its locks are lost. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How long ZooKeeper surely keeps this session's nodes, by this process's monotonic clock. */
  remainingMs(): number {
    return this.#isOver ? 0 : Math.max(0, this.#validUntil - performance.now());
  }

  /** @returns a function that removes the listener. */
  onEnd(listener: () => void): () => void {
    this.#ends.once('end', listener);
    return () => void this.#ends.off('end', listener);
  }

  /**
   * Sends a request once there is a connection. A failed request may still take effect, but only
   * before any later request of this session. @throws DEADLINE_PASSED, or ZooKeeper's error.
   */
  async ask<T>(
    send: (client: Client, reply: Reply<T>) => void,
    withinMs = this.#answerMs,
  ): Promise<T> {
    const deadline = performance.now() + withinMs;
    const late = (cause?: unknown) =>
      serviceError('DEADLINE_PASSED', 'an answer of ZooKeeper', withinMs).causedBy(cause);
    if (this.#isOver) throw late();
    if (this.#client.getState() !== zookeeperPackage().State.SYNC_CONNECTED) {
      const signal = AbortSignal.timeout(withinMs);
      await once(this.#client, 'connected', { signal }).catch((cause: unknown) =>
        Promise.reject(late(cause)),
      );
    }
    const sentAt = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(late()), deadline - sentAt);
      send(this.#client, (error, value) => {
        clearTimeout(timer);
        this.#heard(sentAt, error);
        if (error) reject(error);
        else resolve(value);
      });
    });
  }

  /** Ends the session, so that ZooKeeper removes its nodes at once if it can be reached. */
  async close(): Promise<void> {
    await nextTurn(); // The client cannot be closed in the turn in which it was opened.
    const closed = this.#connection.closed();
    this.#end();
    await closed;
  }

  #heard(sentAt: number, error: Parameters<Reply<unknown>>[0]): void {
    const { OK, CONNECTION_LOSS, OPERATION_TIMEOUT, SESSION_EXPIRED } =
      zookeeperPackage().Exception;
    const code = (error as Partial<Exception> | null)?.code ?? OK;
    if (code === SESSION_EXPIRED) this.#end();
    const isAnswer = ![CONNECTION_LOSS, OPERATION_TIMEOUT, SESSION_EXPIRED].includes(code);
    if (!isAnswer || this.#isOver) return;
    this.#validUntil = sentAt + Math.min(this.#timeoutMs, this.#client.getSessionTimeout());
  }

  #watch(): void {
    const leftMs = this.remainingMs();
    if (leftMs === 0) this.#end();
    else this.#watchdog = setTimeout(() => this.#watch(), leftMs).unref();
  }

  /**
   * A connection that does not answer is closed while there is still time to make another in the
   * same session.
   */
  async #beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    try {
      await this.ask<unknown>((client, reply) => client.exists('/', reply), this.#timeoutMs / 3);
    } catch (error) {
      if (isServiceError(error, 'DEADLINE_PASSED') && !this.#isOver) this.#connection.hangUp();
    } finally {
      this.#isBeating = false;
    }
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#heartbeats);
    clearTimeout(this.#watchdog);
    this.#ends.emit('end');
    for (const path of this.removals.eventNames()) this.removals.emit(path);
    this.#client.close();
    setTimeout(() => this.#connection.hangUp(), this.#answerMs);
  }
}

type ZookeeperPackage = typeof import('node-zookeeper-client');
const load = createRequire(import.meta.url);

/** Loaded with the first session: 10 MB that a process without ZooKeeper does not need. */
export const zookeeperPackage = () => load('node-zookeeper-client') as ZookeeperPackage;

/** The internals that the repairs need. */
interface Internals {
  readonly connectionManager: {
    pendingBuffer: Buffer | null;
    readonly socket?: Socket;
    onSocketData(bytes: Buffer): void;
    on(event: 'state', listener: (state: number) => void): void;
  };
}

/** The internal state in which a connection is being made. */
const connecting = 1;

interface ClientConnection {
  readonly client: Client;
  /**
   * Closes the connection; unless the client was closed, it makes another and stays in its session.
   */
  hangUp(): void;
  /** Resolves when the present connection has ended. */
  closed(): Promise<void>;
}

/**
 * node-zookeeper-client 1.1.3 with three repairs. It never times out a read, it keeps half of a cut
 * answer for the next connection, and an answer that it cannot parse becomes an uncaught exception.
 */
function openClient(servers: string, sessionTimeout: number): ClientConnection {
  const client = zookeeperPackage().createClient(servers, { sessionTimeout, spinDelay: 100 });
  client.setMaxListeners(0);
  const inside = (client as unknown as Internals).connectionManager;
  const hangUp = () => void inside.socket?.destroy();
  const read = inside.onSocketData.bind(inside);
  inside.onSocketData = (bytes) => {
    try {
      read(bytes);
    } catch {
      hangUp(); // An unknown error code, or data after the client was closed.
    }
  };
  inside.on('state', (state) => {
    if (state === connecting) inside.pendingBuffer = null;
  });
  client.connect();
  return { client, hangUp, closed: () => ended(inside.socket) };
}

async function ended(socket?: Socket): Promise<void> {
  if (socket && !socket.closed) await once(socket, 'close').catch(() => {});
}
