/**
 * One ZooKeeper session for each process. The client reports an expired session only once it has
 * reached the server again; disconnected, it never does. So the session keeps its own clock: it is
 * valid for its timeout from the moment the last answered request was *sent*, since the server
 * heard of the process no earlier than that.
 */

import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Client, Event, Exception } from 'node-zookeeper-client';
import { isServiceError, serviceError } from '../errors.ts';
import { type ClientConnection, openClient, zookeeperPackage } from './zookeeper-client.ts';

export interface ZookeeperOptions {
  /** How long one answer may take, in milliseconds. */
  readonly answerMs: number;
  /**
   * How long ZooKeeper keeps the nodes of a process that it does not hear from, in milliseconds.
   */
  readonly sessionMs: number;
}

export type Reply<T> = (error: Error | Exception | null, value: T) => void;

export class ZookeeperSession {
  /** Emits the path of a removed node; at the end of the session, every path with a listener. */
  readonly removals = new EventEmitter().setMaxListeners(0);
  /**
   * One function for every watch: the client calls the same function once, however many requests
   * wait for a node.
   */
  readonly announceRemoval = (event: Event) => void this.removals.emit(event.getPath());
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
