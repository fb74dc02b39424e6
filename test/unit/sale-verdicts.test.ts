/** The drills that sell until nothing is left: what is wrong with a sale, and what they say. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type ChangedSale, judgeChangedSale } from '../../src/lab/drills/changed-sale.ts';
import { type FloodedSale, judgeFlood } from '../../src/lab/drills/flood.ts';
import { bucketFigures, type HotSale, judgeHotVoucher } from '../../src/lab/drills/hot-voucher.ts';
import { judgeKillStorm, stormFaults } from '../../src/lab/drills/kill-storm.ts';
import { underFire } from '../../src/lab/drills/under-fire.ts';
import { judgeWaitingRoom, type WaitedSale } from '../../src/lab/drills/waiting-room.ts';
import {
  judgeScaleOut,
  type KilledWorker,
  type ScaleStep,
} from '../../src/lab/drills/workers-scale-out.ts';
import type { Undo } from '../../src/lab/faults/fault.ts';
import type { Stage } from '../../src/lab/stage/stage.ts';
import { planPurchases } from '../../src/lab/workload/steady-purchases.ts';
import type { Look } from '../../src/lab/workload/waiting-line.ts';
import { at, tried, verdictsOf } from './drill-cases.ts';
import { accepted, facts, type Given, refused, row, unknown } from './facts.ts';

/** Two units, both sold; the third user is told "sold out". */
const soldOut = tried(refused('3', 'sold-out'), 60);
const tries = [tried(accepted('1', 'a'), 20), tried(accepted('2', 'b'), 40), soldOut];
const factsOf = (given: Given = {}) =>
  facts({
    ...{ initialStock: 2, stock: 0, attempts: tries, locked: false, ...given },
    redis: { stock: 0, ...given.redis },
  });
const purchase = (userId: string, requestId = `r${userId}`) => ({
  ...{ voucherId: '9', userId, requestId },
});
const purchases = ['1', '2', '3'].map((userId) => purchase(userId));
const sale = { purchases, tries, facts: factsOf() };
type Changes = Partial<typeof sale>;

const kinds = ['redis-main', 'database', 'nginx', 'instance', 'worker'].flatMap((role) => [
  `kill ${role}`,
  `pause ${role}`,
]);
function judgeKills(changes: Changes & { readonly faults?: readonly string[] }) {
  const { faults, facts: own, ...rest } = { ...sale, faults: kinds, ...changes };
  return judgeKillStorm({ ...rest, facts: [own] }, faults);
}

const hotSale = (changes: Partial<HotSale> = {}): HotSale => ({
  ...{ ...sale, demands: [1, 1], isCut: true, kills: 4 },
  end: { stock: 0, inTransit: 0, open: [], transfers: 2 },
  ...changes,
});
const judgeHot = (changes: Partial<HotSale>) => judgeHotVoucher([hotSale(changes)]);

/** User 2 asked in the pause, from 10 ms to 20 ms. */
const paused = tried(refused('2', 'sale-paused'), 15);
const changedSale: ChangedSale = {
  ...{ ...sale, tries: [paused, ...tries], pauses: [{ from: at(10), to: at(20) }] },
  ...{ changes: [{ state: 'done', stock: 2 }], wantedStock: 2, isRefusedBelowSold: true },
  ...{ cuts: 2, kills: 3 },
};
const judgeChanged = (changes: Partial<ChangedSale>) =>
  judgeChangedSale([{ ...changedSale, ...changes }]);

/** A pass until 1,000 ms. */
const look = (userId: string, place: number, ms: number, changes: Partial<Look> = {}): Look => ({
  ...{ userId, place, called: place, pass: `pass of ${place}`, passUntil: at(1_000) },
  ...{ askedAt: at(ms), answeredAt: at(ms + 1), askAgainSeconds: 0 },
  ...changes,
});
const waits = { called: 0, pass: undefined, passUntil: undefined } as const;
const secondWaits = look('2', 2, 13, { ...waits, called: 1 });
/** User 1 has its turn at 12 ms, and user 2, who waited, at 32 ms; user 3 tried without a pass. */
const looks = [look('1', 1, 11), secondWaits, look('2', 2, 31)];
const jump = { ...tried(refused('3', 'pass-required'), 1), requestId: 'jump' };
const jumpSold = { ...tried(accepted('3', 'c'), 3), requestId: 'jump' };
const waitedSale: WaitedSale = {
  ...{ ...sale, jumps: [purchase('3', 'jump')], looks, passesAtOnce: 1 },
  killed: ['kill api-1', 'kill redis-main'],
};
const judgeLine = ({ tries: own = tries, ...changes }: Partial<WaitedSale>) =>
  judgeWaitingRoom([{ ...waitedSale, ...changes, tries: [jump, ...own] }]);

const killed: KilledWorker = {
  ...{ worker: 'api-worker-2', inHand: [['a'], ['b']], recordedBefore: 0, claimedMs: 2_100 },
  recordedByOthers: new Set(['a', 'b']),
};
/** Two workers on two shards; one died with an order of each in hand, the other recorded both. */
const step = { ...sale, workers: 2, withoutConsumer: [], waiting: 50, recordedMs: 100, killed };
type StepChanges = Partial<Omit<ScaleStep, 'facts'>> & Changes;
const judgeScale = ({ facts: own = sale.facts, ...changes }: StepChanges) =>
  judgeScaleOut([{ ...step, ...changes, facts: [own] }]);
const judgeKilled = (changes: Partial<KilledWorker>) =>
  judgeScale({ killed: { ...killed, ...changes } });

const floods = [
  { name: 'the list', answers: { '200': 400, 'too-many-requests': 9_000 } },
  { name: 'readiness', answers: { 'not-found': 9_000 } },
];
const judgeFlooded = (changes: Partial<FloodedSale>) => judgeFlood({ ...sale, floods, ...changes });

const storm = verdictsOf('a storm', judgeKills);
const hot = verdictsOf('a hot voucher', judgeHot);
const changed = verdictsOf('a changed sale', judgeChanged);
const line = verdictsOf('a waiting line', judgeLine);
const scaled = verdictsOf('a step of workers', judgeScale);
const flooded = verdictsOf('a sale in a flood', judgeFlooded);
const dead = verdictsOf('a dead worker', judgeKilled);

describe('every drill that sells', () => {
  const twice = { orders: [row('a', '1'), row('b', '2'), row('c', '2')], stock: -1 };
  const oneMore = [...purchases, purchase('4')];

  for (const drill of [storm, hot, changed, line, scaled, flooded]) {
    drill.holds({ 'all is sold, recorded and answered': {} });
    drill.isAlso('violated', {
      // Of the audit alone.
      'redis-matches-mysql violated': { facts: factsOf({ redis: { stock: 1 } }) },
      '1 accepted orders were lost': { facts: factsOf({ orders: [row('a', '1')], stock: 1 }) },
      '1 users have two orders of one voucher': { facts: factsOf(twice) },
      '3 sold, 2 recorded and 2 accepted are not equal': { facts: factsOf({ stock: -1 }) },
      'voucher 9, no-oversell violated': { facts: factsOf({ stock: -1 }) },
      '1 purchases never got a final answer': { tries: tries.with(2, tried(unknown('3'), 60)) },
    });
    drill.is('unknown', { '1 purchases were not sent in time': { purchases: oneMore } });
  }

  test('keeps the facts that its audit is about', () => {
    const stolen = factsOf({ stock: -1 });
    for (const judge of [judgeHot, judgeChanged, judgeLine, judgeScale, judgeFlooded]) {
      expect(judge({ facts: stolen }).facts).toEqual([stolen]);
      expect(judge({}).facts).toEqual([]);
    }
  });
});

describe('a storm', () => {
  const refusals = ['unknown-voucher', 'sale-paused'].map((why) => tried(refused('1', why), 0));
  const failed = { ...tried(unknown('1'), 0), reason: 'internal-error' };
  storm.is('violated', {
    '3 answers do not belong to this sale': { tries: [failed, ...refusals, ...tries] },
  });
  const nobody = purchases.map(({ userId }) => tried(refused(userId, 'sold-out'), 1));
  const unsold = { stock: 2, orders: [], attempts: [], redis: { stock: 2, buyers: {} } };
  storm.is('unknown', {
    'nobody bought': { tries: nobody, facts: factsOf(unsold) },
    ...Object.fromEntries(
      kinds.map((kind) => [
        `there was no ${kind}`,
        { faults: kinds.filter((each) => each !== kind) },
      ]),
    ),
  });

  /** Its work ends after some faults, and earlier where it is told that all is over. */
  const stormOf = (inject: () => Promise<Undo>, isEnough: () => boolean) => {
    const ended: string[] = [];
    const stage = { signal: new AbortController().signal, inject, lab: { heal: async () => {} } };
    const fault = { name: 'kill it', inject: async () => async () => {} };
    function* again() {
      for (;;) yield { fault, kind: 'kill it', afterMs: 0, forMs: 5 };
    }
    const work = async (over: AbortSignal) => {
      while (!isEnough() && !over.aborted) await sleep(5);
      if (over.aborted) ended.push('ended');
      return 'done';
    };
    return { fire: underFire(stage as unknown as Stage, [again(), again()], work), ended };
  };

  /** @param failsAt the number of the fault that cannot be injected. */
  const breaker = (failsAt = 0) => {
    const seen = { broken: 0, all: 0 };
    const inject = async (): Promise<Undo> => {
      seen.all += 1;
      if (seen.all === failsAt) throw new RangeError('no such server');
      seen.broken += 1;
      return async () => {
        await sleep(20);
        seen.broken -= 1;
      };
    };
    return { seen, ...stormOf(inject, () => seen.all > 4) };
  };

  test('goes on until its work ends, and each fault is undone', async () => {
    const { fire, seen } = breaker();
    const { done, kinds } = await fire;
    expect({ done, broken: seen.broken }).toEqual({ done: 'done', broken: 0 });
    expect(kinds.length).toBeGreaterThan(2);
  });

  test('ends, and its work too, when a fault fails; those that are under way are undone', async () => {
    const { fire, seen, ended } = breaker(2);
    await expect(fire).rejects.toThrow('no such server');
    expect(seen.broken).toBe(0);
    await expect.poll(() => ended).toEqual(['ended']);
  });

  const roles = [
    ['redis-main', ['redis-main']],
    ['instance', ['api-1', 'api-2']],
  ] as const;
  const faultsOf = (seed: number) => {
    const all = stormFaults(roles, seed);
    return Array.from({ length: 40 }, () => all.next().value);
  };
  const summary = (seed: number): string =>
    JSON.stringify(faultsOf(seed).map(({ fault, ...times }) => [fault.name, times]));

  test('has the same faults for the same seed, and others for another', () => {
    expect(new Set([1, 2, 3, 3, 4].map(summary)).size).toBe(4);
  });

  test('has every kind of fault before any comes again, on every server in the end', () => {
    const all = faultsOf(9);
    const kindsOf = (from: number) => new Set(all.slice(from, from + 4).map(({ kind }) => kind));
    const four = ['kill redis-main', 'kill instance', 'pause redis-main', 'pause instance'];
    for (let from = 0; from < all.length; from += 4) expect(kindsOf(from)).toEqual(new Set(four));
    const servers = new Set(all.map(({ fault }) => fault.name.replace(/^(kill|pause) /, '')));
    expect(servers).toEqual(new Set(['api-1', 'api-2', 'redis-main']));
  });

  test('has every user once, and every tenth twice, with a key for each purchase', () => {
    const plan = planPurchases('7', 10, 1);
    expect([plan.length, new Set(plan.map(({ requestId }) => requestId)).size]).toEqual([11, 11]);
    expect(new Set(plan.map(({ userId }) => userId)).size).toBe(10);
  });
});

describe('a hot voucher', () => {
  const left = { stock: 1, inTransit: 0, open: [], transfers: 2 };
  hot.isAlso('violated', {
    '1 units were stranded, and users were told "sold out"': { end: left },
    '1 users were told "sold out" while a bucket had some': {
      tries: [...tries, tried(accepted('4', 'd'), 70)],
    },
    '1 units were sold that did not exist': { facts: factsOf({ stock: -1 }) },
  });
  hot.is('unknown', {
    'in 1 sales no transfer was cut': { isCut: false },
    '1 vouchers did not sell out': { purchases: purchases.slice(0, 2), tries: tries.slice(0, 2) },
  });

  test('counts the transfers of all sales, and what is wrong with none', () => {
    expect(bucketFigures([hotSale(), hotSale({ isCut: false })])).toEqual({
      ...{ oversold: 0, stranded: 0, soldOutWrongly: 0, askedToRetry: 0 },
      ...{ transfers: 4, transfersCut: 1, strandedWithoutLending: 0 },
    });
    expect(judgeHot({}).faults).toEqual({ 'kill instance': 4 });
  });

  const end = { ...left, stock: 3 };
  const unlent = { facts: factsOf({ initialStock: 8 }), demands: [1, 9] };
  const last = tried(accepted('5', 'e'), 3);
  const retry = tried(refused('4', 'not-ready'), 1);
  const again = [tried(unknown('4'), 50), tried(accepted('4', 'd'), 70)];
  test.each<[string, Partial<HotSale>, object]>([
    [
      'a repeated request as the sale it was',
      { tries: [...tries, ...again] },
      { soldOutWrongly: 0 },
    ],
    ['units as stranded only as far as users were turned away', { end }, { stranded: 1 }],
    ['who was asked to try again', { tries: [retry, last] }, { askedToRetry: 1 }],
    ['what stays in the buckets without lending', unlent, { strandedWithoutLending: 3 }],
  ])('counts %s', (_, changes, figures) => {
    expect(bucketFigures([hotSale(changes)])).toMatchObject(figures);
  });
});

describe('a changed sale', () => {
  const early = [paused, ...tries.with(0, tried(accepted('1', 'a'), 9, 14))];
  changed.holds({ 'a request that was sent before the pause was sold in it': { tries: early } });
  changed.is('violated', {
    'voucher 9: 1 purchases were sold while the sale was paused': {
      tries: [paused, ...tries.with(0, tried(accepted('1', 'a'), 12, 14))],
    },
    'voucher 9: 1 changes were never finished': { changes: [{ state: 'begun', stock: 2 }] },
    'voucher 9: the stock is 2, and the operator set 5': { wantedStock: 5 },
    'voucher 9: a stock below what is sold was not refused': { isRefusedBelowSold: false },
  });
  changed.is('violated', {
    'voucher 9: the stock is 2, and the operator set 3': {
      ...{ wantedStock: 3, changes: [{ state: 'refused', stock: 3 }] },
    },
  });
  changed.is('unknown', {
    'voucher 9: a stock of 1 came after more was sold': {
      ...{ wantedStock: 1, changes: [{ state: 'refused', stock: 1 }] },
    },
    'voucher 9: 1 of 2 changes were cut': { cuts: 1 },
    'voucher 9: nothing was killed beside the changes': { kills: 0 },
    'voucher 9: nobody asked while it was paused': { tries },
    'voucher 9: nobody was told "sold out"': {
      ...{ purchases: purchases.slice(0, 2), tries: [paused, ...tries.slice(0, 2)] },
    },
  });

  test('has what was changed, refused and cut in its figures', () => {
    const states = ['done', 'done', 'refused'] as const;
    const changes = states.map((state) => ({ state, stock: 2 }));
    const { figures, faults } = judgeChanged({ changes });
    expect(figures).toMatchObject({
      ...{ changesDone: 2, changesRefused: 1, changesUnfinished: 0, changesCut: 2 },
      ...{ soldWhilePaused: 0, askedToWait: 1 },
    });
    expect(faults).toEqual({ kill: 5 });
  });
});

describe('a waiting line', () => {
  line.holds({
    'a user whose turn was over has another place': {
      looks: [...looks, look('1', 3, 50, { ...waits, called: 2 })],
    },
  });
  line.is('violated', {
    '1 users lost their place': { looks: looks.with(2, look('2', 3, 31, { pass: undefined })) },
    '1 places were given to two users': { looks: [...looks, look('4', 2, 33, waits)] },
    '1 users came later and have an earlier place': { looks: looks.with(0, look('1', 1, 15)) },
    '1 passes were given before their turn': {
      looks: looks.with(2, look('2', 2, 31, { called: 1 })),
    },
  });
  line.isAlso('violated', {
    '1 more users had a pass at a time than may have one': {
      looks: [look('1', 1, 11), look('2', 2, 13)],
    },
    '1 purchases were sold without a pass': { tries: [...tries, jumpSold] },
  });
  const nobodyJumped = { jumps: [], tries };
  line.is('unknown', {
    'voucher 9: nobody had to wait': { looks: looks.filter(({ pass }) => pass) },
    'voucher 9: nobody tried without a pass': nobodyJumped,
    'voucher 9: no redis-main was killed': { killed: ['kill api-1'] },
    'voucher 9: no api was killed': { killed: ['kill redis-main'] },
  });

  test('has its places and passes in its figures, and what was killed', () => {
    const { figures, faults } = judgeLine({});
    expect(figures).toMatchObject({
      ...{ places: 2, askedToWait: 1, placesLost: 0, placesShared: 0, inversions: 0 },
      ...{ passesTooEarly: 0, passesTooMany: 0, jumpsSold: 0, jumpsRefused: 1 },
    });
    expect(faults).toEqual({ 'kill api-1': 1, 'kill redis-main': 1 });
  });
});

describe('a step of workers', () => {
  scaled.is('violated', {
    '2 workers: no consumer of its own: api-worker-1, shard 1': {
      withoutConsumer: ['api-worker-1, shard 1'],
    },
    '2 workers: 50 orders that waited were not recorded': { recordedMs: null },
  });
  dead.is('violated', {
    '2 workers: orders of api-worker-2 were never claimed': { claimedMs: null },
    '2 workers: 1 orders that api-worker-2 had were recorded by no other worker': {
      recordedByOthers: new Set(['a']),
    },
  });
  scaled.is('unknown', {
    '2 workers: no worker was killed': { killed: undefined },
    '1 worker: no order waited': { workers: 1, killed: undefined, waiting: 0 },
  });
  dead.is('unknown', {
    '2 workers: api-worker-2 had no order of a shard in hand': { inHand: [['a', 'b'], []] },
    '2 workers: MySQL had 1 of the orders in hand already': { recordedBefore: 1 },
  });

  test('has what the death of a worker cost in its figures', () => {
    const { figures } = judgeScale({});
    expect(figures).toEqual({
      '2 workers, recorded per second': 500,
      '2 workers, in hand at the kill': 2,
      '2 workers, claimed after ms': 2_100,
      ...{ accepted: 2, recorded: 2, lost: 0, usersWithTwoOrders: 0 },
    });
  });
});

describe('a sale in a flood', () => {
  const ofList = (answers: Readonly<Record<string, number>>) => ({
    floods: [{ name: 'the list', answers }],
  });
  const failures = { '500': 1, '502': 2, 'not-ready': 3, 'too-many-requests': 9_000 };
  const taken = tried(refused('2', 'too-many-requests'), 10);
  flooded.is('violated', {
    // A buyer was taken for the flood.
    '1 answers do not belong to this sale': { tries: [taken, ...tries] },
    '6 requests of the flood failed': ofList(failures),
  });
  flooded.is('unknown', {
    'a flood of the list had 500 answers only': ofList({ '200': 100, 'too-many-requests': 400 }),
    'nginx refused nothing of a flood of the list': ofList({ '200': 9_000 }),
  });

  test('has the answers of the flood in its figures', () => {
    const { figures } = judgeFlooded({});
    expect(figures).toMatchObject({ floodAnswers: 18_400, floodRefused: 9_000, floodFailed: 0 });
  });
});
