/**
 * The waits of one owner queue in the process, whatever the lock: here a re-entrant mutex. And
 * turns: work of one name is done one after the other; other names do not wait for it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { AcquireOptions, Lease, Lock } from '../../src/service/locks/lock.ts';
import { processMutex } from '../../src/service/locks/process-mutex.ts';
import {
  asOneOwner,
  oneWaitPerOwner,
  reentrant,
  Turns,
} from '../../src/service/locks/shared/owner.ts';

/** Counts the waits that are under way. */
function counted(lock: Lock) {
  const waits = { now: 0, most: 0 };
  const acquire = async (resource: string, options: AcquireOptions): Promise<Lease | null> => {
    waits.now += 1;
    waits.most = Math.max(waits.most, waits.now);
    return lock.acquire(resource, options).finally(() => {
      waits.now -= 1;
    });
  };
  return { waits, lock: { acquire } satisfies Lock };
}

/** A seat that another owner has. */
async function takenSeat() {
  const { waits, lock } = counted(processMutex());
  const seat = reentrant(lock);
  return { waits, seat, other: await seat.acquire('seat', { waitMs: 0 }) };
}

test('one owner waits once, and all its waits are granted together', async () => {
  const { waits, seat, other } = await takenSeat();
  const all = asOneOwner(() =>
    Promise.all([1, 2, 3].map(() => seat.acquire('seat', { waitMs: 5_000 }))),
  );
  await sleep(50);
  expect(waits).toEqual({ now: 1, most: 1 });
  await other?.release();
  const leases = await all;
  expect(leases).not.toContain(null);
  for (const lease of leases) {
    expect(await seat.acquire('seat', { waitMs: 0 })).toBeNull();
    await lease?.release();
  }
  await (await seat.acquire('seat', { waitMs: 0 }))?.release();
});

test('two owners wait beside each other', async () => {
  const { waits, seat, other } = await takenSeat();
  const all = [1, 2].map(() => seat.acquire('seat', { waitMs: 5_000 }));
  await sleep(50);
  expect(waits.now).toBe(2);
  await other?.release();
  for (const waiting of all) await (await waiting)?.release();
});

test('a wait that queues behind another of its owner ends in time, and at its abort', async () => {
  const { seat, other } = await takenSeat();
  await asOneOwner(async () => {
    const long = seat.acquire('seat', { waitMs: 20_000 });
    const askedAt = performance.now();
    expect(await seat.acquire('seat', { waitMs: 0 })).toBeNull();
    expect(await seat.acquire('seat', { waitMs: 50 })).toBeNull();
    const signal = AbortSignal.timeout(50);
    await expect(seat.acquire('seat', { waitMs: 20_000, signal })).rejects.toThrow('timeout');
    expect(performance.now() - askedAt).toBeLessThan(5_000);
    await other?.release();
    await (await long)?.release();
  });
  await (await seat.acquire('seat', { waitMs: 0 }))?.release();
});

test('only the last wait of an owner that ends without a lease gives up its place', async () => {
  const gaveUp: string[] = [];
  const mutex = processMutex();
  const seat = oneWaitPerOwner(mutex, (resource) => gaveUp.push(resource));
  const other = await mutex.acquire('seat', { waitMs: 0 });
  await asOneOwner(async () => {
    const [short, long] = [50, 300].map((waitMs) => seat.acquire('seat', { waitMs }));
    expect(await short).toBeNull();
    expect(gaveUp).toEqual([]);
    expect(await long).toBeNull();
    expect(gaveUp).toEqual(['seat']);
    expect(await seat.acquire('seat', { waitMs: 0 })).toBeNull(); // A try has no place.
    expect(gaveUp).toEqual(['seat']);
  });
  await other?.release();
});

test('a try beside a wait of its owner does not keep the place of that wait', async () => {
  const gaveUp: string[] = [];
  let end = (_: null) => {};
  const acquire = () => new Promise<null>((resolve) => (end = resolve));
  const seat = oneWaitPerOwner({ acquire }, (resource) => gaveUp.push(resource));
  await asOneOwner(async () => {
    const wait = seat.acquire('seat', { waitMs: 1_000 });
    const attempt = seat.acquire('seat', { waitMs: 0 });
    end(null);
    expect(await wait).toBeNull();
    end(null); // Also if the try has asked by now.
    expect(await attempt).toBeNull();
  });
  expect(gaveUp).toEqual(['seat']);
});

/** Notes when each piece of work begins and ends. */
function noted() {
  const turns = new Turns();
  const notes: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      notes.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      notes.push(`${name} ends`);
      if (fails) throw new Error(name);
    };
  return { turns, notes, work };
}

test('work of one name begins when the one before it has ended, also by an error', async () => {
  const { turns, notes, work } = noted();
  const failing = turns.inTurn('seat', work('first', true));
  const next = turns.inTurn('seat', work('second'));
  await expect(failing).rejects.toThrow('first');
  await next;
  expect(notes).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  expect(turns.isTaken('seat')).toBe(false);
});

test('work of another name does not wait', async () => {
  const { turns, notes, work } = noted();
  await Promise.all([turns.inTurn('seat', work('first')), turns.inTurn('other', work('second'))]);
  expect(notes.slice(0, 2)).toEqual(['first begins', 'second begins']);
});

test('a turn that does not come in time is given up, and the next one comes', async () => {
  const { turns, work } = noted();
  let finish = () => {};
  const long = turns.inTurn('seat', () => new Promise<void>((resolve) => (finish = resolve)));
  expect(await turns.inTurnWithin({ waitMs: 1 }, 'seat', work('late'))).toBeNull();
  const next = turns.inTurn('seat', async () => 'done');
  finish();
  await long;
  expect(await next).toBe('done');
});
