/** The order worker as a lane: killed, stopped, and asked for an order again, on real queues. */
import { expect, onTestFinished, test } from 'vitest';
import { openConnections } from '../../src/lab/environment/lab-connections.ts';
import { choicesByHand } from '../../src/lab/play/by-hand.ts';
import type { StageEvent } from '../../src/lab/stage/events.ts';
import { playedOn, playIn, rowsOf } from '../support/judged-drill.ts';
import { theLab } from '../support/own-lab.ts';

const lab = theLab(null);
const played = playedOn(lab);

const accepted = expect.stringMatching(/^A is told: accepted \(order \d+\)$/);
const inHand = expect.stringMatching(/^W has the order in hand \(order \d+\)$/);
const tried = expect.stringMatching(/^W has tried to record the order \(order \d+\)$/);

test.each(['redis-list-reliable', 'redis-stream-last-id', 'rabbitmq', 'lua-stream'] as const)(
  'on %s an order in the hand of a dead worker comes again, also after its commit',
  async (rung) => {
    const claims = rung === 'lua-stream' ? '' : 'A';
    const result = await played(choicesByHand, { rung, choices: `${claims}AXWWXWWWB` });
    expect(rowsOf(result)?.slice(claims.length)).toEqual([
      ['A', accepted],
      ['', inHand],
      ['XW', 'the process of W is killed; another starts'],
      ['', inHand],
      ['W', tried],
      ['XW', 'the process of W is killed; another starts'],
      ['', inHand],
      ['W', tried],
      ['W', 'W has no order in hand'],
      ['B', 'B is told: sold out'],
    ]);
    expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
    expect(result.faults).toEqual({ 'restart api-worker-1': 2 });
  },
);

test.each([
  ['memory', 'AAXWB', ['XW', 'the process of W is killed; another starts']],
  ['redis-list', 'AASWHWB', ['HW', 'the order worker runs again']],
] as const)('on %s an order in the hand of a dead worker is gone', async (rung, choices, row) => {
  const result = await played(choicesByHand, { rung, choices });
  expect(rowsOf(result)?.at(2)).toEqual(['', inHand]);
  expect(rowsOf(result)).toContainEqual(row);
  expect(rowsOf(result)?.at(-1)).toEqual(['B', 'B is told: sold out']);
  expect(result).toMatchObject({ verdict: 'violated', isAsClaimed: true, reasons: [] });
});

test('an order that is queued while no worker runs waits in a stream group', async () => {
  const result = await played(choicesByHand, { rung: 'lua-stream', choices: 'SWAXWHWWW' });
  expect(rowsOf(result)).toEqual([
    ['SW', 'the order worker stops'],
    ['', 'W is stopped'],
    ['A', accepted],
    ['XW', 'nothing: that cannot be done to W now'],
    ['HW', 'the order worker runs again'],
    ['', inHand],
    ['W', tried],
    ['W', 'W has no order in hand'],
  ]);
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test('a buyer whose answer was lost asks again, and is told of the same order', async () => {
  const result = await played(choicesByHand, { rung: 'lua-stream', choices: 'UAAUAAAWW' });
  expect(rowsOf(result)?.map(([, text]) => text)).toEqual([
    'the answer of A will be lost',
    'A gets no answer: it is lost',
    inHand,
    'the answer of A will be lost',
    accepted,
    tried,
    'W has no order in hand',
  ]);
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test.each([
  ['lua-stream', 'UAAWWAB'],
  ['redis-list', 'UAAAWWAAWWB'],
] as const)('on %s an order that is asked for again later is one order', async (rung, choices) => {
  const result = await played(choicesByHand, { rung, choices });
  const texts = rowsOf(result)?.map(([, text]) => text) ?? [];
  expect(texts.filter((text) => String(text).startsWith('W has the order in hand'))).toHaveLength(
    rung === 'redis-list' ? 2 : 1,
  );
  expect(texts).toContainEqual(accepted);
  expect(texts.filter((text) => String(text).startsWith('nothing'))).toEqual([]);
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test.each(['memory', 'redis-list', 'rabbitmq', 'lua-stream'] as const)(
  'on %s the worker stops at every checkpoint, and is free once it has settled its order',
  async (rung) => {
    const choices = rung === 'lua-stream' ? 'AWWWB' : 'AAAWWWB';
    const told: string[] = [];
    const listen = (event: StageEvent) => {
      if (event.kind === 'lane' && event.lane === 'W')
        told.push(event.is === 'paused' ? event.checkpoint : event.is);
    };
    const options = { rung, choices, stopsEverywhere: true };
    const result = await playIn(lab(), choicesByHand, options, 240_000, [listen]);
    expect(told.filter((is) => is !== 'running')).toEqual([
      ...['delivered', 'recording', 'recorded', 'free'],
    ]);
    expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
  },
);

test('on memory the worker dies with the buyer whose process it is', async () => {
  const result = await played(choicesByHand, {
    ...{ rung: 'memory', choices: 'AAPAXAB', stopsEverywhere: true },
  });
  expect(rowsOf(result)?.slice(1)).toEqual([
    ['A', 'A has queued its order'],
    ['', inHand],
    ['PA', 'nothing: the process of A cannot be paused now'],
    ['XA', 'A is killed, with its process'],
    ['', 'W has no order in hand'],
    ['B', 'B is told: sold out'],
  ]);
});

test('a buyer that dies after it has queued its order has it recorded all the same', async () => {
  const result = await played(choicesByHand, {
    ...{ rung: 'rabbitmq', choices: 'AAAXABWWW', stopsEverywhere: true },
  });
  expect(result).toMatchObject({ verdict: 'held', isAsClaimed: true });
});

test('a worker is not replaced while a buyer is paused, and starts again at the end', async () => {
  const result = await played(choicesByHand, { rung: 'redis-stream', choices: 'APAXWSWHW' });
  expect(
    rowsOf(result)
      ?.map(([, text]) => text)
      .slice(2, 6),
  ).toEqual([
    'nothing: that cannot be done to W now',
    'the order worker stops',
    'W is stopped',
    'nothing: that cannot be done to W now',
  ]);
  const connections = await openConnections(lab());
  onTestFinished(() => connections.close());
  const redis = connections.labRedis();
  await connections.ready();
  expect(await redis.keys('lab:workers-away')).toEqual([]);
  expect(await redis.keys('race:*:armed')).toEqual([]);
});
