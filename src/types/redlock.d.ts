/**
 * redlock 4.2 ships no types, and @types/redlock asks for ioredis 4. Only what the Redlock rung
 * uses.
 */
declare module 'redlock' {
  import type { EventEmitter } from 'node:events';
  import type { Redis } from 'ioredis';

  export interface RedlockOptions {
    driftFactor?: number;
    retryCount?: number;
    retryDelay?: number;
    retryJitter?: number;
  }

  export interface RedlockLock {
    readonly resource: string[];
    readonly value: string;
    /** By Date.now(), drift already taken off. */
    readonly expiration: number;
    unlock(): Promise<void>;
  }

  export default class Redlock extends EventEmitter {
    static readonly LockError: new (
      message?: string,
      attempts?: number,
    ) => Error;
    constructor(clients: readonly Redis[], options?: RedlockOptions);
    lock(resource: string | string[], ttlMs: number): Promise<RedlockLock>;
  }
}
