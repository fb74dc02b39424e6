/**
 * Idea. No lock: everybody gets a lease at once, and it means nothing.
 * Holds while. The sale itself, or the database, keeps sales apart.
 * Breaks when. Two sales check before either of them writes.
 * Source. The starting point of the course notes: query, then update, then insert.
 */
import { endlessLease, type Lock } from './lock.ts';

export const open = (): Lock => ({
  acquire: async () => endlessLease(async () => {}),
});
