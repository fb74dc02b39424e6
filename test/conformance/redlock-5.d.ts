/**
 * redlock 5.0.0-beta.2 has types, but its `exports` do not name them, and they ask for ioredis 4.
 * Only what the conformance clauses use.
 */
declare module 'redlock-5' {
  import type { EventEmitter } from 'node:events';

  export interface Settings {
    driftFactor?: number;
    retryCount?: number;
    retryDelay?: number;
    retryJitter?: number;
    automaticExtensionThreshold?: number;
  }

  export class ExecutionError extends Error {}

  export default class Redlock extends EventEmitter {
    constructor(clients: Iterable<object>, settings?: Settings);
    using<T>(
      resources: string[],
      durationMs: number,
      routine: (signal: AbortSignal) => Promise<T>,
    ): Promise<T>;
  }
}
