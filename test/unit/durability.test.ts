/** What Redis must be configured for, and what a drill says of what was lost. */
import { expect, test } from 'vitest';
import type { Durability } from '../../src/config.ts';
import { weakCommits, weakSettings } from '../../src/connections/durability.ts';
import { auditAll } from '../../src/lab/drills/audited.ts';
import {
  durabilityReasons,
  type Endured,
  survivalOf,
} from '../../src/lab/drills/durability-verdict.ts';
import type { Loss } from '../../src/lab/drills/survival.ts';
import { accepted, facts, type Given, row, timed, unknown } from './facts.ts';

const strong = {
  appendonly: 'yes',
  'maxmemory-policy': 'noeviction',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'min-replicas-to-write': '1',
};

const promised = (ORDER_DURABILITY: Durability, ORDER_REPLICAS = 1) => ({
  ORDER_DURABILITY,
  ORDER_REPLICAS,
});

test.each(['everysec', 'always', 'replica'] as const)(
  '%s is kept by the strongest',
  (durability) => {
    expect(weakSettings(promised(durability), strong)).toEqual([]);
  },
);

test.each<[Durability, string, string]>([
  ['everysec', 'appendonly', 'no'],
  ['everysec', 'appendfsync', 'no'],
  ['everysec', 'maxmemory-policy', 'allkeys-lru'],
  ['always', 'appendonly', 'no'],
  ['always', 'appendfsync', 'everysec'],
  ['always', 'no-appendfsync-on-rewrite', 'yes'],
  ['replica', 'appendfsync', 'everysec'],
  ['replica', 'min-replicas-to-write', '0'],
])('%s is not kept with %s %s', (durability, name, value) => {
  const [weak, ...others] = weakSettings(promised(durability), { ...strong, [name]: value });
  expect(weak).toContain(`${name} is ${value}, and must be `);
  expect(others).toEqual([]);
});

test.each<[Durability, string, string]>([
  ['everysec', 'appendfsync', 'everysec'],
  ['everysec', 'no-appendfsync-on-rewrite', 'yes'],
  ['always', 'min-replicas-to-write', '0'],
])('%s is kept with %s %s too', (durability, name, value) => {
  expect(weakSettings(promised(durability), { ...strong, [name]: value })).toEqual([]);
});

test('a master must have as many replicas as an order waits for', () => {
  expect(weakSettings(promised('replica', 2), strong)).toEqual([
    'min-replicas-to-write is 1, and must be 2 or more',
  ]);
  expect(weakSettings(promised('always', 2), strong)).toEqual([]);
});

/** Two of three sold; both were answered 10 ms after the start, and the fault came at 20. */
function endured(durability: Durability, loss: Loss, changes: Given = {}): Endured {
  const attempts = [timed(accepted('1', 'a'), 5, 10), timed(accepted('2', 'b'), 5, 10)];
  const moments = { calmFrom: 0n, brokenAt: ns(20), until: ns(1_000) };
  const history: Given['history'] = [];
  return {
    ...{ durability, loss, isOver: false, atRisk: 1 },
    ...moments,
    facts: facts({ attempts, history, locked: false, ...changes }),
  };
}
const ns = (ms: number): bigint => BigInt(ms) * 1_000_000n;

/** Redis and MySQL have only one of the two. */
const oneLost: Given = {
  orders: [row('a', '1')],
  redis: { buyers: { 1: 'a' }, stock: 2 },
  stock: 2,
};

/** MySQL has both, and Redis only the first. */
const oneForgotten: Given = { redis: { buyers: { 1: 'a' }, stock: 2 } };

const judged = (each: Endured) => durabilityReasons([each], auditAll([each.facts]));

test.each<[Durability, Loss, Given, string]>([
  ['always', 'kill', {}, 'held'],
  ['always', 'power-loss', {}, 'held'],
  ['replica', 'promotion', {}, 'held'],
  ['everysec', 'kill', {}, 'held'],
  ['everysec', 'kill', oneLost, 'held'],
  ['everysec', 'power-loss', oneLost, 'held'],
  ['always', 'promotion', oneLost, 'held'],
  ['everysec', 'kill', oneForgotten, 'held'],
  ['always', 'kill', oneForgotten, 'violated'],
  ['everysec', 'kill', { redis: { buyers: { 1: 'a' }, stock: 3 } }, 'violated'],
  ['always', 'kill', oneLost, 'violated'],
  ['always', 'power-loss', oneLost, 'violated'],
  ['replica', 'promotion', oneLost, 'violated'],
  ['everysec', 'power-loss', {}, 'violated'],
  ['always', 'promotion', {}, 'violated'],
  ['everysec', 'power-loss', { ...oneLost, stock: 1 }, 'violated'],
])('%s, %s with %o is %s', (durability, loss, changes, verdict) => {
  const result = judged(endured(durability, loss, changes));
  expect(result.verdict, result.reasons.join()).toBe(verdict);
});

test('where a loss is claimed, every order that was at risk must be lost', () => {
  const lost = (atRisk: number) => judged({ ...endured('everysec', 'promotion', oneLost), atRisk });
  expect(lost(1)).toMatchObject({ verdict: 'held', reasons: [] });
  expect(lost(2)).toMatchObject({
    verdict: 'violated',
    reasons: ['everysec, promotion: 2 orders were at risk, and 1 were lost'],
  });
});

test('the orders of accepted attempts are counted once, and those that MySQL does not have', () => {
  const again = timed(accepted('2', 'b'), 11, 15);
  const each = endured('everysec', 'kill', oneLost);
  const attempts = [...(each.facts.attempts ?? []), again, unknown('3')];
  const survival = survivalOf({ ...each, facts: { ...each.facts, attempts } });
  expect(survival).toMatchObject({ accepted: 2, lost: 1, unknown: 1, secondsWithoutSales: 0.985 });
});

test('a drill without a sale before it shows nothing, and one without a sale after it is broken', () => {
  const early = { ...endured('always', 'kill'), brokenAt: ns(1) };
  expect(judged(early).verdict).toBe('unknown');
  expect(judged({ ...endured('always', 'kill'), isOver: true }).verdict).toBe('violated');
  expect(judged({ ...endured('always', 'kill'), until: ns(11_000) }).verdict).toBe('violated');
});

test.each([
  [{ flushes: 1, hasBinlog: 0, binlogSyncs: 0 }, 0],
  [{ flushes: '1', hasBinlog: '1', binlogSyncs: '1' }, 0],
  [{ flushes: 3, hasBinlog: 0, binlogSyncs: 0 }, 0],
  [{ flushes: 2, hasBinlog: 0, binlogSyncs: 0 }, 1],
  [{ flushes: 0, hasBinlog: 1, binlogSyncs: 1 }, 1],
  [{ flushes: 1, hasBinlog: 1, binlogSyncs: 0 }, 1],
  [{ flushes: 2, hasBinlog: 1, binlogSyncs: 100 }, 2],
])('MySQL with %j may lose commits in %d ways', (settings, ways) => {
  expect(weakCommits(settings)).toHaveLength(ways);
});
