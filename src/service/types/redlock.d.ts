/**
 * redlock 4.2 ships no types, and @types/redlock asks for ioredis 4. Only what the Redlock rung
 * uses.
 */
declare module 'redlock' {
  import type { EventEmitter } from 'node:events';

  export interface RedlockOptions {
    driftFactor?: number;
    retryCount?: number;
    retryDelay?: number;
    retryJitter?: number;
    /** Called with the package's script; its own is what this returns. */
    unlockScript?: (script: string) => string;
  }

  export type RedlockCallback = (error?: Error | null, result?: unknown) => void;

  /** What it needs of a Redis client. */
  export interface RedlockClient {
    evalsha(digest: string, args: (string | number)[], done: RedlockCallback): unknown;
    eval(args: (string | number)[], done: RedlockCallback): unknown;
  }

  export interface RedlockLock {
    readonly resource: string[];
    readonly value: string;
    /** By Date.now(), drift already taken off. */
    readonly expiration: number;
    unlock(): Promise<void>;
    /** The same lock. When no majority does so, the package unlocks it everywhere. */
    extend(ttlMs: number): Promise<RedlockLock>;
  }

  export default class Redlock extends EventEmitter {
    static readonly LockError: new (
      message?: string,
      attempts?: number,
    ) => Error;
    constructor(clients: readonly RedlockClient[], options?: RedlockOptions);
    lock(resource: string | string[], ttlMs: number): Promise<RedlockLock>;
  }
}
