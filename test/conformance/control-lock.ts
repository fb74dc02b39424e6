/** A small lock on a majority of three masters that keeps every clause, or lacks one thing. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Contender, type Grant, type Subject, waitMs } from './subject.ts';

/** Each is what one clause looks for. */
export type Defect =
  | 'sets-without-nx'
  | 'keeps-what-it-got'
  | 'ignores-its-validity'
  | 'deletes-any-key'
  | 'needs-every-master'
  | 'waits-for-every-answer'
  | 'sets-no-expiry'
  | 'prefers-the-first'
  | 'tells-nobody';

const releaseScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0`;
const answerMs = 300;
const retryMs = 40;

export const controlLock = (defect?: Defect): Subject => ({
  name: defect ?? 'control',
  setup: 'a lock of the tests',
  needs: 'majority',
  open: (urls, { leaseMs }) => openControl(urls, leaseMs, defect),
});

async function openControl(
  urls: readonly string[],
  leaseMs: number,
  defect: Defect | undefined,
): Promise<Contender> {
  const has = (each: Defect): boolean => defect === each;
  const isPatient = has('waits-for-every-answer') || has('ignores-its-validity');
  const masters = urls.map((url) => new Redis(url, options(isPatient)));
  for (const master of masters) master.on('error', () => {});
  await Promise.all(masters.map((master) => once(master, 'ready')));
  const needed = has('needs-every-master') ? 3 : 2;
  let asking = 0;

  const set = (master: Redis, key: string, owner: string) => {
    if (has('sets-without-nx')) return master.set(key, owner, 'PX', leaseMs);
    if (has('sets-no-expiry')) return master.set(key, owner, 'NX');
    return master.set(key, owner, 'PX', leaseMs, 'NX');
  };
  const free = (key: string, owner: string) =>
    onAll(masters, (master) =>
      has('deletes-any-key') ? master.del(key) : master.eval(releaseScript, 1, key, owner),
    );

  async function attempt(key: string): Promise<Grant | null> {
    const owner = randomUUID();
    const askedAt = performance.now();
    const isOver = () => performance.now() - askedAt >= leaseMs;
    const answers = await onAll(masters, (master) => set(master, key, owner));
    const votes = answers.filter((answer) => answer === 'OK').length;
    const isValid = has('ignores-its-validity') || !isOver();
    if (votes >= needed && isValid)
      return {
        isLost: () => isOver() && !has('tells-nobody'),
        release: () => free(key, owner),
      };
    if (!has('keeps-what-it-got') && !has('sets-no-expiry')) free(key, owner).catch(() => {});
    return null;
  }

  async function acquire(resource: string): Promise<Grant | null> {
    const until = performance.now() + waitMs;
    asking += 1;
    const isBehind = has('prefers-the-first') && asking > 2;
    do {
      const grant = isBehind ? null : await attempt(`control:${resource}`);
      if (grant) return grant;
      await sleep(retryMs * 2 * Math.random());
    } while (performance.now() < until);
    return null;
  }

  return {
    acquire,
    close: () => {
      for (const master of masters) master.disconnect();
    },
  };
}

const options = (isPatient: boolean) =>
  isPatient ? {} : { commandTimeout: answerMs, maxRetriesPerRequest: 0, enableOfflineQueue: false };

/** The answers, and null for a master that has none. */
const onAll = (
  masters: readonly Redis[],
  work: (master: Redis) => Promise<unknown>,
): Promise<unknown[]> => Promise.all(masters.map((master) => work(master).catch(() => null)));
