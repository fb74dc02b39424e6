/** The verdict on an outage of the database. */
import { expect, test } from 'vitest';
import type { Attempt } from '../../src/audit/facts.ts';
import { auditAll } from '../../src/lab/drills/audited.ts';
import {
  type DatabaseOutage,
  databaseOutageReasons,
  outageFigures,
} from '../../src/lab/drills/database-outage-figures.ts';
import { accepted, facts, refused, row, timed, unknown } from './facts.ts';

const ns = (ms: number): bigint => BigInt(ms) * 1_000_000n;
const inTurn = (attempts: readonly Attempt[]) =>
  attempts.map((each) => ({ ...each, voucherId: '9' }));

/** One bought before the outage, one during it, one after it; the first two are in the facts. */
const last = timed(accepted('3', 'c'), 92, 96);

function survived(changes: Partial<DatabaseOutage> = {}): DatabaseOutage {
  const attempts = [timed(accepted('1', 'a'), 5, 10), timed(accepted('2', 'b'), 25, 30)];
  return {
    ...{ name: 'stop mysql', state: 'unanswered', calmFrom: 0n, brokenAt: ns(20) },
    ...{ mendedAt: ns(90), recordedAt: ns(95), until: ns(100), waitingMost: 1 },
    fillsRedis: false,
    tries: inTurn([...attempts, last]),
    readiness: ['{"status":"degraded","unanswered":["MySQL"],"readOnly":[]}'],
    replaced: 0,
    facts: facts({ attempts, history: [], locked: false }),
    ...changes,
  };
}

function judged(outage: DatabaseOutage) {
  const [audited] = auditAll([outage.facts]);
  if (!audited) throw new Error('no audit');
  return databaseOutageReasons(outage, audited);
}

test('an outage in which sales go on and all is recorded afterwards is survived', () => {
  expect(judged(survived())).toMatchObject({ verdict: 'held', reasons: [] });
  expect(outageFigures(survived())).toEqual({
    ...{
      soldMeanwhile: 1,
      waitingMost: 1,
      recordedMs: 5,
      deadLettered: 0,
      readyzSaidSo: 1,
      replaced: 0,
    },
  });
});

const first = timed(accepted('1', 'a'), 5, 10);
const second = timed(accepted('2', 'b'), 25, 30);
const failed = { ...row('b', '2'), status: 'failed', reason: 'undeliverable' } as const;

test.each<[string, Partial<DatabaseOutage>, string]>([
  ['nothing is sold', { tries: inTurn([first, timed(unknown('2'), 25, 30), last]) }, 'sold 0 in 1'],
  ['nothing is sold any more', { tries: inTurn([first, second]) }, 'nothing was sold afterwards'],
  ['no order waits', { waitingMost: 0 }, 'at most 0 orders waited'],
  ['an order is never recorded', { recordedAt: null }, 'not every order was recorded'],
  ['an order is given up', { facts: facts({ orders: [row('a', '1'), failed] }) }, '1 orders were'],
  ['/readyz says nothing', { readiness: ['{"status":"ok"}'] }, 'never said so: "unanswered"'],
  ['/readyz says the other', { state: 'readOnly' }, 'never said so: "readOnly"'],
  ['/readyz says ok', { state: 'behind', readiness: ['{"status":"ok"}'] }, 'never said so'],
  ['/readyz says that it is away', { state: 'behind' }, 'never said so'],
  ['a worker is replaced', { replaced: 1 }, '1 processes were replaced'],
])('%s: broken', (_, changes, reason) => {
  const { verdict, reasons } = judged(survived(changes));
  expect([verdict, reasons.join()]).toEqual(['violated', expect.stringContaining(reason)]);
});

test('an outage before which nobody bought shows nothing', () => {
  const tries = inTurn([second, last]);
  expect(judged(survived({ tries })).verdict).toBe('unknown');
});

test('an outage that fills Redis may refuse most, and shows nothing when Redis was never full', () => {
  const full = [31, 32, 33].map((ms) => timed(refused('4', 'not-ready'), ms, ms));
  const tries = inTurn([first, second, ...full, last]);
  expect(judged(survived({ fillsRedis: true, tries }))).toMatchObject({ verdict: 'held' });
  expect(judged(survived({ tries })).reasons.join()).toContain('sold 1 in 4');
  expect(judged(survived({ fillsRedis: true }))).toMatchObject({
    ...{ verdict: 'unknown', reasons: ['stop mysql: Redis was never full'] },
  });
});
