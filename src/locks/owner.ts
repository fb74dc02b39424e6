/**
 * Who holds a reentrant lock: an async context. A process is not an owner, and Node has no threads to be one: with one
 * owner for the process, every request in it would re-enter the lock, and exclude nobody.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

const contexts = new AsyncLocalStorage<string>();

/** Runs `work`, and whatever it awaits, as one owner: inside, a lock that is held may be taken again. */
export const asOneOwner = <T>(work: () => T): T =>
  contexts.getStore() === undefined ? contexts.run(randomUUID(), work) : work();

/** Outside of any such context every caller is an owner of its own. */
export const currentOwner = (): string => contexts.getStore() ?? randomUUID();
