/** The drills in which orders may be lost: a loss that is claimed must show, and no other may. */

import { describe, expect, test } from 'vitest';
import {
  countHop,
  type Hop,
  type HopPlay,
  hops,
  hopTables,
  judgeHops,
  queueRungs,
} from '../../src/lab/drills/accepted-is-not-sold.ts';
import { judgeLosses, type Loss, lossOf } from '../../src/lab/drills/durability.ts';
import type { Timeline } from '../../src/lab/drills/expectations.ts';
import { flush, judgeFlush } from '../../src/lab/drills/flush-during-rush.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { tableMarkdown } from '../../src/lab/report/table.ts';
import { rowTexts } from '../../src/lab/stage/table.ts';
import type { Attempt } from '../../src/service/audit/facts.ts';
import type { Durability } from '../../src/service/config.ts';
import type { Verdict } from '../../src/service/domain.ts';
import { at, outOfService, tried, verdictsOf } from './drill-cases.ts';
import { accepted, facts, type Given, history, refused, row, unknown } from './facts.ts';
import { tooWide } from './terminal.ts';

describe('what a durability promises', () => {
  /** Two of three sold; both were answered 10 ms after the start, and the fault came at 20. */
  const attempts = [tried(accepted('1', 'a'), 5, 10), tried(accepted('2', 'b'), 5, 10)];
  const played = (durability: Durability, loss: Loss, changes: Given = {}) => ({
    seen: [
      {
        ...{ ...outOfService, row: lossOf({ durability, loss }), atRisk: 1 },
        ...{ tries: [...attempts, tried(accepted('3', 'c'), 31, 35)], calmFrom: 0n },
        ...{ brokenAt: at(20), mendedAt: at(30), until: at(1_000) },
      },
    ],
    unfinished: [],
    facts: facts({ attempts, history: [], locked: false, ...changes }),
  });
  const judged = (
    durability: Durability,
    loss: Loss,
    changes: Given,
    seen: Partial<Timeline> = {},
  ) => {
    const all = played(durability, loss, changes);
    return judgeLosses([{ ...all, seen: all.seen.map((each) => ({ ...each, ...seen })) }]);
  };

  const onlyFirst = { buyers: { 1: 'a' }, stock: 2 };
  /** Redis and MySQL have only one of the two. */
  const oneLost: Given = { orders: [row('a', '1')], redis: onlyFirst, stock: 2 };
  /** MySQL has both, and Redis only the first. */
  const oneForgotten: Given = { redis: onlyFirst };
  const oneTooMany: Given = { redis: { ...onlyFirst, stock: 3 } };

  test.each<[Durability, Loss, Verdict, Verdict]>([
    ['everysec', 'kill', 'held', 'held'],
    ['everysec', 'power-loss', 'violated', 'held'],
    ['everysec', 'promotion', 'violated', 'held'],
    ['always', 'kill', 'held', 'violated'],
    ['always', 'power-loss', 'held', 'violated'],
    ['always', 'promotion', 'violated', 'held'],
    ['replica', 'kill', 'held', 'violated'],
    ['replica', 'power-loss', 'held', 'violated'],
    ['replica', 'promotion', 'held', 'violated'],
  ])(
    '%s, %s is %s when nothing is lost, and %s when an order is',
    (durability, loss, ...wanted) => {
      const seen = [{}, oneLost].map((changes) => judged(durability, loss, changes));
      expect(seen.map(({ verdict }) => verdict)).toEqual(wanted);
    },
  );

  test.each<[Durability, Loss, string, Verdict, Given]>([
    ['everysec', 'kill', 'has forgotten what MySQL has', 'held', oneForgotten],
    ['always', 'kill', 'has forgotten what MySQL has', 'violated', oneForgotten],
    ['everysec', 'kill', 'has a unit too many', 'violated', oneTooMany],
  ])('%s, %s: when Redis %s it is %s', (durability, loss, _, verdict, changes) => {
    expect(judged(durability, loss, changes).verdict).toBe(verdict);
  });

  const claimed = verdictsOf('a claimed loss', (atRisk: number) =>
    judged('everysec', 'promotion', oneLost, { atRisk }),
  );
  claimed.is('violated', { 'everysec, promotion: 2 orders were at risk, and 1 were lost': 2 });

  const kill = verdictsOf('a kill', (changes: Partial<Timeline>) =>
    judged('always', 'kill', {}, changes),
  );
  kill.is('unknown', { 'always, kill: nobody bought before': { calmFrom: at(6) } });
  kill.isAlso('violated', {
    'always, kill: never sold again': { mendedAt: at(40) },
    'always, kill: 10.965 s without a sale': { until: at(11_000) },
  });

  test('is counted once for each accepted order, and each that MySQL does not have', () => {
    const again = [...attempts, tried(accepted('2', 'b'), 11, 15), unknown('3')];
    const { tables } = judged('everysec', 'kill', { ...oneLost, attempts: again });
    expect(tables?.[0]?.rows).toEqual([['everysec', 'kill', '2', '1', '1', '1.0', '1.0']]);
  });
});

describe('a FLUSHALL in a rush', () => {
  const sale = (userId: string, orderId: string, ms: number) => ({
    ...tried(accepted(userId, orderId), ms),
    requestId: `r-${userId}-${ms}`,
  });
  const [first, third, fourth] = [sale('1', '11', 10), sale('3', '13', 310), sale('4', '14', 320)];
  const refusal = tried(refused('9', 'not-ready'), 150);
  const attempts: Attempt[] = [first, sale('2', '12', 20), refusal, third, fourth];
  const orders = [row('11', '1'), row('13', '3'), row('14', '4')];
  const buyers = { '1': '11', '3': '13', '4': '14' };
  /** Three in stock; order 12 was lost in the flush at 100 ms, and its unit was sold again. */
  const judge = ({ isConsistent = true, ...given }: Given & { isConsistent?: boolean }) => {
    const { attempts: own = [] } = given;
    const tries = (given.attempts ? own : attempts).map((each) => ({ voucherId: '9', ...each }));
    const seen = {
      ...{ ...outOfService, row: flush, tries, brokenAt: at(100), downFrom: at(110) },
      ...{ downUntil: at(200), mendedAt: at(300), until: at(400) },
    };
    const sale = facts({
      ...{ orders, attempts, locked: false, stock: 0, ...given },
      redis: { stock: 0, buyers, ...given.redis },
    });
    return judgeFlush({ seen: [seen], unfinished: [], facts: sale }, isConsistent);
  };

  test('has lost an order, which is counted and claimed', () => {
    const { figures, asClaimed } = judge({});
    expect(figures).toMatchObject({ accepted: 4, recorded: 3, lostAccepted: 1, oversold: 0 });
    expect(asClaimed).toHaveLength(1);
  });

  const flushed = verdictsOf('it', judge);
  /** Four in stock, and order 12 was recorded before the flush. */
  const nothingLost: Given = {
    ...{ initialStock: 4, orders: [...orders, row('12', '2')] },
    redis: { buyers: { ...buyers, '2': '12' } },
  };
  flushed.isAlso('violated', {
    'flush: 1 orders are lost that were accepted after it': {
      attempts: [...attempts, sale('5', '15', 330)],
    },
    'flush: sold 1, and should sell nothing': {
      attempts: attempts.with(3, sale('3', '13', 150)),
    },
    'one-order-per-user violated': { orders: orders.with(2, row('14', '3')) },
    'no-oversell violated': { orders: [...orders, row('16', '6')], stock: -1 },
    'Redis and MySQL do not agree in the end': { isConsistent: false },
  });
  flushed.is('unknown', {
    'flush: no accepted order was in Redis alone': nothingLost,
    'flush: nobody bought while Redis was rebuilt': { attempts: attempts.toSpliced(2, 1) },
    'flush: no order was recorded before it': {
      attempts: attempts.with(0, sale('1', '11', 305)),
    },
    'flush: the voucher is not sold out': { initialStock: 4, stock: 1, redis: { stock: 1 } },
  });
});

describe('a fault at a hop of an order', () => {
  const told = (userId: string) => accepted(userId, userId);
  const seen = facts({
    ...{ rung: 'redis-list', initialStock: 9, stock: 6 },
    orders: [row('1', '1'), row('2', '2'), row('3', '2')],
    redis: { stock: 5, buyers: { 1: '1', 2: '2', 3: '3', 4: '4' } },
    attempts: [told('1'), told('2'), told('3'), unknown('4'), refused('5', 'sold-out')],
  });

  test('is counted by how often MySQL has what was accepted, and by the users who are stuck', () => {
    expect(countHop(seen, 0n)).toEqual({
      ...{ accepted: 3, once: 1, twice: 1, never: 1, stuck: 2, seconds: null },
    });
  });

  test('is over after seconds: from the fault to the last order, when all are recorded', () => {
    const { redis: _, ...rest } = seen;
    const recorded = history('1000 1 1 recorded', '4500 2 2 recorded');
    const complete = { ...rest, attempts: [told('1'), told('2')], history: recorded };
    expect(countHop(complete, at(2_000)).seconds).toBe(2.5);
    expect(countHop(complete, at(9_000)).seconds).toBe(0);
  });

  test('is played at every hop, on every queue that a rush does not break', () => {
    expect(hops).toHaveLength(9);
    const expected = ['memory', 'redis-list', 'redis-pubsub', 'rabbitmq', 'lua-stream'];
    expect(queueRungs).toEqual(expect.arrayContaining(expected));
    expect(queueRungs).not.toContain('redis-commands');
  });

  const cell = (verdict: Verdict, claim: Verdict): HopPlay => ({
    race: {
      ...{ race: 'worker-dies', title: '', rung: 'redis-list', shows: 'no-lost-orders' },
      ...{ verdict, claim, asClaimed: verdict === claim, steps: [], isSlow: false, stops: [] },
      ...{ facts: seen, evidence: 'order 3 does not exist', alsoBroken: [] },
    },
    hop: {
      ...{ rung: 'redis-list', hop: 'worker-dies', asClaimed: verdict === claim },
      ...{ accepted: 1, once: 0, twice: 0, never: 1, stuck: 1, seconds: null },
    },
  });

  test('is held when what was claimed has shown, and says what that was', () => {
    const result = judgeHops([cell('violated', 'violated'), cell('held', 'held')]);
    expect(result).toMatchObject({ verdict: 'held', reasons: [], facts: [] });
    expect(result.asClaimed).toMatchObject([
      { en: 'worker-dies on redis-list: order 3 does not exist' },
    ]);
    expect(result.figures).toMatchObject({ hopsPlayed: 2, accepted: 2, neverRecorded: 2 });
  });

  test.each([
    ['violated', 'an order is lost that its row keeps', cell('violated', 'held')],
    ['violated', 'a claimed loss does not show', cell('held', 'violated')],
    ['unknown', 'a cell cannot tell', cell('unknown', 'held')],
  ] as const)('is %s when %s', (verdict, _, wrong) => {
    const result = judgeHops([cell('held', 'held'), wrong]);
    expect(result).toMatchObject({ verdict, facts: [seen] });
    expect(result.reasons).toEqual([
      { en: expect.stringContaining('the ladder claims'), zh: expect.stringContaining('预期是') },
    ]);
  });
});

const compared = ['redis-list', 'redis-pubsub', 'redis-stream', 'redis-stream-group', 'rabbitmq'];

const hop = (rung: string, name: Hop['hop'], changes: Partial<Hop> = {}): Hop => ({
  ...{ rung, hop: name, accepted: 1, once: 1, twice: 0, never: 0, stuck: 0 },
  ...{ seconds: 0, asClaimed: true, ...changes },
});
const lost = { once: 0, never: 1, stuck: 1, seconds: null };
const hopsOf = (rung: string): Hop[] => [
  hop(rung, 'queue-restarts', rung === 'redis-pubsub' ? lost : {}),
  hop(rung, 'worker-away', rung === 'redis-pubsub' || rung === 'redis-stream' ? lost : {}),
  hop(rung, 'worker-dies', /group|rabbit/.test(rung) ? {} : lost),
  hop(rung, 'worker-dies-after-commit', { seconds: /group|rabbit/.test(rung) ? 5.1 : 0 }),
];
test('compares the five queues of the notes by what was measured', () => {
  const tables = hopTables(compared.flatMap(hopsOf));
  expect(tables.map(({ rows }) => rows.length)).toEqual([20, 5, 5]);
  expect(rowTexts('en', tables[2]?.rows ?? [])).toEqual([
    ['List', 'kept', 'kept', 'lost', 'no'],
    ['PubSub', 'lost', 'lost', 'lost', 'no'],
    ['Stream', 'kept', 'lost', 'lost', 'no'],
    ['Stream, group', 'kept', 'kept', 'kept', 'yes'],
    ['RabbitMQ', 'kept', 'kept', 'kept', 'yes'],
  ]);
});

test('compares only queues that every measure was taken of', () => {
  const [group = ''] = compared.slice(3);
  expect(hopTables(hopsOf(group)).at(2)?.rows).toHaveLength(1);
  expect(hopTables(hopsOf(group).slice(1))).toHaveLength(2);
  expect(hopTables([])).toEqual([]);
});

test('marks an outsider, and fits 80 columns', () => {
  const rungs = [...compared, 'redis-stream-last-id', 'bullmq', 'bullmq-5s'];
  const text = resultText({
    ...{ verdict: 'held', reasons: [], figures: {}, faults: {} },
    tables: hopTables(rungs.flatMap(hopsOf)),
  });
  const lines = text.split('\n');
  expect(lines.filter((line) => line.startsWith('bullmq *'))).toHaveLength(4);
  expect(lines.filter((line) => line.startsWith('redis-list *'))).toEqual([]);
  expect(tooWide(text)).toEqual([]);
});

test('says for the documents what became of the order at each hop, on each queue', () => {
  const hops = [...hopsOf('redis-list'), ...hopsOf('rabbitmq')];
  const stuck = hop('bullmq', 'queue-restarts', {
    accepted: 0,
    once: 0,
    stuck: 1,
    seconds: null,
  });
  const [, table] = hopTables([...hops, stuck]).map((each) => tableMarkdown(each));
  expect(table?.split('\n').slice(2)).toEqual([
    '| queue of | queue-restarts | worker-away | worker-dies | worker-dies-after-commit |',
    '| --- | --- | --- | --- | --- |',
    '| redis-list | 0.0 s | 0.0 s | **lost** | not again |',
    '| rabbitmq | 0.0 s | 0.0 s | 0.0 s | 5.1 s |',
    '| bullmq * | **stuck** | – | – | – |',
  ]);
});
