/** The verdict about workers that scale out: what a dead one had must be recorded by others. */
import { expect, test } from 'vitest';
import {
  judgeScaleOut,
  type Killed,
  type ScaleStep,
} from '../../src/lab/drills/scale-out-figures.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { accepted, facts, timed } from './facts.ts';

const voucherId = '9';
const tries: Try[] = [
  { ...timed(accepted('1', 'a'), 1, 2), voucherId },
  { ...timed(accepted('2', 'b'), 3, 4), voucherId },
];
const purchases = tries.map(({ userId, requestId }) => ({ voucherId, userId, requestId }));
const killed: Killed = {
  ...{ worker: 'api-worker-2', inHand: [['a'], ['b']], recordedBefore: 0, claimedMs: 2_100 },
  recordedByOthers: new Set(['a', 'b']),
};

/** Two workers on two shards; one died with an order of each in hand, the other recorded both. */
const step = (changes: Partial<ScaleStep> = {}): ScaleStep => ({
  ...{ workers: 2, withoutConsumer: [], waiting: 50, recordedMs: 100, killed, purchases, tries },
  facts: [{ ...facts({ attempts: tries }), locked: false }],
  ...changes,
});
const judge = (changes: Partial<ScaleStep> = {}) => judgeScaleOut([step(changes)]);
const judgeKilled = (changes: Partial<Killed>) => judge({ killed: { ...killed, ...changes } });

test('orders that the other worker recorded are held, with what it cost as figures', () => {
  const { verdict, reasons, figures } = judge();
  expect({ verdict, reasons }).toEqual({ verdict: 'held', reasons: [] });
  expect(figures).toEqual({
    '2 workers, recorded per second': 500,
    '2 workers, in hand at the kill': 2,
    '2 workers, claimed after ms': 2_100,
    ...{ accepted: 2, recorded: 2, lost: 0, usersWithTwoOrders: 0 },
  });
});

test('one worker alone is not killed', () => {
  expect(judge({ workers: 1, killed: undefined })).toMatchObject({ verdict: 'held' });
});

test.each<[string, Pick<ReturnType<typeof judge>, 'verdict' | 'reasons'>]>([
  ['that nobody claimed', judgeKilled({ claimedMs: null })],
  ['that no other worker recorded', judgeKilled({ recordedByOthers: new Set(['a']) })],
  [
    'of a worker without a consumer of its own',
    judge({ withoutConsumer: ['api-worker-1, shard 1'], killed: undefined }),
  ],
  ['that wait for ever', judge({ recordedMs: null })],
  [
    'that are lost',
    judge({ facts: [{ ...facts({ attempts: tries, orders: [], stock: 3 }), locked: false }] }),
  ],
])('orders %s are a violation', (_, { verdict, reasons }) => {
  expect(verdict).toBe('violated');
  expect(reasons.length).toBeGreaterThan(0);
});

test.each<[string, ReturnType<typeof judge>]>([
  ['when no worker was killed', judge({ killed: undefined })],
  ['when it had no order of a shard', judgeKilled({ inHand: [['a', 'b'], []] })],
  ['when MySQL had its orders already', judgeKilled({ recordedBefore: 1 })],
  ['when no order waited', judge({ waiting: 0 })],
])('nothing is known %s', (_, { verdict }) => {
  expect(verdict).toBe('unknown');
});
