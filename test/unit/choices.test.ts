/** Choices without servers: the search for every order, who waits for whom, and the verdict. */
import { describe, expect, test } from 'vitest';
import { labError } from '../../src/lab/errors.ts';
import { judgedCount, judgedOrders } from '../../src/lab/play/all-orders.ts';
import { choicesOf, everyOrder, type Walk } from '../../src/lab/play/explore.ts';
import { LaneLocks } from '../../src/lab/play/lane-locks.ts';
import { actOf, choicesIn, lanesOf, serverFaults } from '../../src/lab/play/letters.ts';
import { stopsOf } from '../../src/lab/play/set-up.ts';
import type { HistoryEvent } from '../../src/service/trace/history.ts';
import { withCode } from '../support/basics.ts';

/** Two lanes with three steps each; with a lock, the second waits until the first has ended. */
function playOf(prefix: string, hasLock: boolean): Walk {
  const left: Record<string, number> = { A: 3, B: 3 };
  const steps: { lane: string; could: string[] }[] = [];
  for (let index = 0; ; index++) {
    const inside = Object.keys(left).find((lane) => [1, 2].includes(left[lane] ?? 0));
    const canGo = (lane: string) =>
      (left[lane] ?? 0) > 0 && !(hasLock && inside && inside !== lane);
    const could = Object.keys(left).filter(canGo);
    const lane = prefix[index] ?? could[0];
    if (lane === undefined) return { steps };
    steps.push({ lane, could });
    left[lane] = (left[lane] ?? 0) - 1;
  }
}

async function allOf(play: (prefix: string) => Promise<Walk>): Promise<string[]> {
  const orders: string[] = [];
  for await (const played of everyOrder(play)) orders.push(choicesOf(played));
  return orders;
}

describe('every order', () => {
  test('of two lanes with three steps each is played once', async () => {
    const orders = await allOf(async (prefix) => playOf(prefix, false));
    expect(orders).toHaveLength(20);
    expect(new Set(orders).size).toBe(20);
    for (const order of orders) expect([...order].toSorted().join('')).toBe('AAABBB');
  });

  test.each<[string, (prefix: string) => Walk]>([
    ['the same choices lead elsewhere', (prefix) => playOf(prefix === '' ? '' : 'AB', false)],
    ['another lane can go than before', (prefix) => playOf(prefix, prefix !== '')],
  ])('is refused when %s, also at the third try', async (_, play) => {
    let plays = 0;
    const changing = async (prefix: string) => {
      plays += 1;
      return play(prefix);
    };
    await expect(allOf(changing)).rejects.toThrow(withCode('ORDER_NOT_REPLAYED'));
    expect(plays).toBe(1 + 3);
  });

  test('of lanes that exclude each other is one of two, also when a play is disturbed', async () => {
    let plays = 0;
    const orders = await allOf(async (prefix) => {
      plays += 1;
      if (plays === 2) throw labError('CHOICES_DISTURBED', 'a test says so');
      return playOf(prefix, true);
    });
    expect(orders.toSorted()).toEqual(['AAABBB', 'BBBAAA']);
    expect(plays).toBe(3);
  });
});

const event = (event: HistoryEvent['event'], instance: string): HistoryEvent => ({
  ...{ at: '1', instance, event, voucherId: '1', userId: '7', orderId: '1', requestId: 'r' },
  ...(event !== 'waiting' && { resource: 'order:1:7' }),
});

/** Lane A has the lock, and lane B was refused it. */
function twoLanes(isInProcess: boolean, instanceOfB = 'api-1'): LaneLocks {
  const locks = new LaneLocks(isInProcess);
  for (const name of ['requested', 'granted'] as const) locks.read('A', event(name, 'api-1'));
  for (const name of ['requested', 'waiting'] as const) locks.read('B', event(name, instanceOfB));
  return locks;
}

describe('two lanes have one lock at once', () => {
  const granted = () => {
    const locks = twoLanes(false, 'api-2');
    locks.read('B', event('granted', 'api-2'));
    return locks;
  };

  test('when it is granted again, and no lease had ended', () => {
    expect(twoLanes(false).ownersAtOnce(() => true)).toEqual([]);
    expect(granted().ownersAtOnce(() => true)).toEqual(['A', 'B']);
    expect(granted().ownersAtOnce((lane) => lane !== 'A')).toEqual([]);
  });

  test('but not after the end of the lease, nor in two processes with a mutex each', () => {
    const locks = twoLanes(false, 'api-2');
    locks.leaseEnded('A');
    locks.read('B', event('granted', 'api-2'));
    expect(locks.ownersAtOnce(() => true)).toEqual([]);
    const mutexes = twoLanes(true, 'api-2');
    mutexes.read('B', event('granted', 'api-2'));
    expect(mutexes.ownersAtOnce(() => true)).toEqual([]);
  });
});

describe('a lane', () => {
  test('waits for the owner once it was refused, until the owner has released', () => {
    const locks = twoLanes(false, 'api-2');
    locks.read('B', event('requested', 'api-2'));
    expect(locks.waitedFor('B')).toEqual([]);
    locks.read('B', event('waiting', 'api-2'));
    expect(locks.waitedFor('B')).toEqual(['A']);
    locks.read('A', event('releasing', 'api-1'));
    expect(locks.waitedFor('B')).toEqual(['A']);
    locks.read('A', event('released', 'api-1'));
    expect(locks.waitedFor('B')).toEqual([]);
    locks.read('B', event('granted', 'api-2'));
    expect(locks.waitedFor('B')).toEqual([]);
  });

  test('does not wait for the owner of a mutex in another process', () => {
    expect(twoLanes(true, 'api-2').waitedFor('B')).toEqual([]);
  });

  test.each([
    ['keeps its lock in a server', false, ['A']],
    ['loses the one in its process', true, []],
  ] as const)('whose process was killed %s', (_, isInProcess, waitedFor) => {
    const locks = twoLanes(isInProcess);
    locks.died('A');
    expect(locks.waitedFor('B')).toEqual(waitedFor);
  });
});

describe('the orders of a rung', () => {
  const held = { rung: 'redis-atomic', orders: 6, broken: [] } as const;
  const broken = { rung: 'mutex-per-user', orders: 20, broken: ['ABABAB'] } as const;

  test('are as claimed when the right ones break it', () => {
    const counts = [judgedCount(held, []), judgedCount(broken, ['one-order-per-user'])];
    expect(counts.map(({ asClaimed }) => asClaimed)).toEqual([true, true]);
    expect(judgedOrders(counts)).toMatchObject({ verdict: 'held', reasons: [] });
  });

  test.each([
    ['none breaks a rung that is claimed to break', { ...broken, broken: [] }, null],
    ['another promise breaks than the claimed one', broken, 'no-lost-orders'],
  ] as const)('are not as claimed when %s', (_, count, check) => {
    const { verdict, reasons } = judgedOrders([judgedCount(count, check === null ? [] : [check])]);
    expect(verdict).toBe('violated');
    expect(reasons).toEqual([expect.objectContaining({ en: expect.stringContaining(count.rung) })]);
  });

  test('are unknown when they could not be played', () => {
    const unknown = { ...held, verdict: 'unknown', asClaimed: false } as const;
    expect(judgedOrders([unknown])).toMatchObject({ verdict: 'unknown' });
  });
});

test('a lane stops where its rung has something to teach', () => {
  expect(stopsOf('check-then-insert')).toEqual(['after-check']);
  expect(stopsOf('mutex-per-user')).toEqual(['after-acquire', 'after-check']);
  const inside = ['after-acquire', 'after-check', 'before-commit'];
  expect(stopsOf('mutex-inside-transaction')).toEqual(inside);
  expect(stopsOf('redis-list')).toEqual(['claimed', 'delivered', 'recorded']);
  expect(stopsOf('lua-stream')).toEqual(['delivered', 'recorded']);
});

test('choices are letters, each with an X before it when its process is killed', () => {
  expect(choicesIn('AXAB')).toEqual(['A', 'XA', 'B']);
  expect(choicesIn('AEAS2H2B')).toEqual(['A', 'EA', 'S2', 'H2', 'B']);
  expect(choicesIn('UAWXWSWHW')).toEqual(['UA', 'W', 'XW', 'SW', 'HW']);
  expect(choicesIn('PWKQAARW')).toEqual(['PW', 'KQ', 'A', 'A', 'RW']);
  expect(choicesIn('ZATABKTTAMTRA')).toEqual(['ZA', 'TA', 'B', 'KT', 'TA', 'MT', 'RA']);
  expect(choicesIn('GAIBOAMAKPMP')).toEqual(['GA', 'IB', 'OA', 'MA', 'KP', 'MP']);
  expect(['EW', 'UW', 'GW', 'TW', 'ZW', 'KA', 'MR', 'K', 'MW'].map(choicesIn)).toEqual(
    Array(9).fill(null),
  );
  const acts = ['W', 'XW', 'SW', 'HW', 'UB', 'A', 'PC', 'RC', 'EB', 'S2', 'H3'].map(actOf);
  expect(acts.map((act) => `${act.does} ${act.to}`)).toEqual([
    ...['move W', 'kill W', 'stop W', 'start W', 'lose-answer B', 'move A'],
    ...['pause C', 'resume C', 'end-lease B', 'stop redis-2', 'start redis-3'],
  ]);
  const broken = ['KP', 'MP', 'KS', 'OB', 'MB', 'GA', 'IC'].map(actOf);
  expect(broken.map((act) => `${act.does} ${act.to}`)).toEqual([
    ...['break promote-replica', 'mend promote-replica', 'break flush-scripts', 'cut-off B'],
    ...['mend B', 'forget A', 'nest C'],
  ]);
  for (const wrong of ['', 'X', 'AX', 'XXA', 'AE', 'a', 'S', 'S4', 'SA', 'X1'])
    expect(choicesIn(wrong), wrong).toBeNull();
});

test('there are as many lanes as the choices name, and two at least', () => {
  expect(lanesOf('')).toEqual(['A', 'B']);
  expect(lanesOf('AXA')).toEqual(['A', 'B']);
  expect(lanesOf('AAC')).toEqual(['A', 'B', 'C']);
  const faults = Object.keys(serverFaults).map((letter) => `K${letter}`);
  expect(lanesOf(faults.join(''))).toHaveLength(2);
});
