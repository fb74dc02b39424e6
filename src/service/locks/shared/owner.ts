/**
 * The owner of a reentrant lock: an async context. Node has no threads to be owners, and a process
 * is not one: if the process were the owner, every request in it would re-enter the lock, and the
 * lock would exclude nobody.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

const contexts = new AsyncLocalStorage<string>();

/**
 * Runs `work`, and whatever it awaits, as one owner: inside, a lock that the owner holds may be
 * acquired again.
 */
export const asOneOwner = <T>(work: () => T): T =>
  contexts.getStore() === undefined ? contexts.run(randomUUID(), work) : work();

/** Outside of such a context every caller is a new owner. */
export const currentOwner = (): string => contexts.getStore() ?? randomUUID();
