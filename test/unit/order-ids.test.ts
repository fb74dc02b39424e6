/** Order ids: ascending and unique with any clock, and the same decimal string everywhere. */
import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Id } from '../../src/service/http/ids.ts';
import { composeId, counterKey } from '../../src/service/order-ids/redis-worker.ts';
import { openSnowflakes, type Stretch, snowflakes } from '../../src/service/order-ids/snowflake.ts';
import {
  always,
  firstOutOfOrder,
  listeningLog,
  quiet,
  setClock,
  withCode,
} from '../support/basics.ts';

const start = Date.UTC(2026, 10, 20);
const hourMs = 3_600_000;
const many = 200_000;

const clocks: Record<string, () => () => number> = {
  advances: () => {
    let reads = 0;
    return () => start + Math.floor(reads++ / 1_000);
  },
  'stands still': () => still,
  'steps back by two seconds several times': () => {
    let reads = 0;
    return () => start + Math.floor(reads++ / 1_000) - (reads % 30_000 < 10_000 ? 2_000 : 0);
  },
};

const make = (count: number, next: () => string): string[] => Array.from({ length: count }, next);
const still = () => start;
const standingStill = (workerId: number) => snowflakes(always(workerId), quiet, still);
const millisecondsOf = (id: string): number => Number(BigInt(id) >> 22n);

describe('snowflakes', () => {
  test.each(Object.entries(clocks))('are unique and ascend while the clock %s', (_, clock) => {
    const ids = make(many, snowflakes(always(7), quiet, clock()));
    expect(new Set(ids).size).toBe(many);
    expect(firstOutOfOrder(ids)).toBeUndefined();
  });

  test('of two workers are never the same, though their clocks agree', () => {
    const workers = Array.from({ length: 1_024 }, (_, worker) => worker);
    const ids = workers.flatMap((worker) => make(100, standingStill(worker)));
    expect(new Set(ids).size).toBe(102_400);
  });

  test('run ahead of a clock that stands still by as little as possible', () => {
    const ids = make(many, standingStill(0));
    const aheadMs = millisecondsOf(ids.at(-1) ?? '') - millisecondsOf(ids[0] ?? '');
    expect(aheadMs).toBe(Math.floor((many - 1) / 4_096));
  });

  test('are ids that the service accepts, and fit in a BIGINT for decades', () => {
    const decadesOn = snowflakes(always(1_023), quiet, () => Date.UTC(2090, 0));
    for (const id of [...make(5_000, standingStill(512)), decadesOn()])
      expect(Id.safeParse(id).success).toBe(true);
  });

  test('ascend when a lower worker id replaces another within a millisecond', () => {
    let stretch = always(9)();
    const next = snowflakes(() => stretch, quiet, still);
    const before = make(3, next);
    stretch = always(2)();
    expect(firstOutOfOrder([...before, ...make(3, next)])).toBeUndefined();
  });

  test('stay within the reserved stretch of time', () => {
    const clock = setClock(start);
    const reserved: Stretch = { workerId: 1, fromMs: start + 1_000, untilMs: start + 2_000 };
    let stretch: Stretch | undefined = reserved;
    const next = snowflakes(() => stretch, quiet, clock.now);
    expect(millisecondsOf(next())).toBe(start + 1_000 - Date.UTC(2026, 0));
    clock.step(1_999);
    next();
    clock.step(1);
    expect(next).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
    stretch = { ...reserved, untilMs: start + 3_000 };
    next();
    stretch = undefined;
    expect(next).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
  });
});

describe('a clock that steps back', () => {
  test('by two seconds is bridged, and logged once', () => {
    const { log, events } = listeningLog();
    const clock = setClock(start);
    const next = snowflakes(always(3), log, clock.now);
    const ids = make(1_000, next);
    clock.step(-2_000);
    ids.push(...make(10_000, next));
    expect(events).toEqual(['clock-stepped-back']);
    clock.step(2_500);
    ids.push(...make(1_000, next));
    expect(firstOutOfOrder(ids)).toBeUndefined();
    expect(events).toEqual(['clock-stepped-back', 'clock-is-right-again']);
  });

  test('by an hour stops the ids until it is right again, and is logged once', () => {
    const { log, events } = listeningLog();
    const clock = setClock(start);
    const next = snowflakes(always(3), log, clock.now);
    const before = next();
    clock.step(-hourMs);
    for (let tries = 0; tries < 100; tries++) expect(next).toThrow(withCode('CLOCK_STEPPED_BACK'));
    expect(events).toEqual(['clock-stepped-back-too-far']);
    clock.step(hourMs);
    expect(firstOutOfOrder([before, next()])).toBeUndefined();
    expect(events).toEqual(['clock-stepped-back-too-far', 'clock-is-right-again']);
  });

  test('before the first id stops the ids as well', () => {
    const stretch = { workerId: 3, fromMs: start + hourMs, untilMs: Infinity };
    expect(snowflakes(() => stretch, quiet, still)).toThrow(withCode('CLOCK_STEPPED_BACK'));
  });

  test('to 1970 makes no negative ids', () => {
    expect(snowflakes(always(3), quiet, () => 0)).toThrow(withCode('CLOCK_STEPPED_BACK'));
    expect(() => composeId(0, 1)).toThrow(withCode('ORDER_ID_NOT_COUNTED'));
  });
});

describe('a maker on leased worker ids', () => {
  /** It reserves whatever it is asked for, until it is told not to answer. */
  function leasingRedis() {
    const redis = { asked: 0, answers: true };
    const evalsha = async () => {
      redis.asked++;
      if (!redis.answers) throw new Error('Redis does not answer');
      return 'reserved';
    };
    return Object.assign(redis, { as: { evalsha } as unknown as Redis });
  }

  async function opened(log = quiet) {
    const [clock, redis] = [setClock(start), leasingRedis()];
    const ids = await openSnowflakes(redis.as, log, { now: clock.now });
    onTestFinished(() => ids.close());
    return { clock, redis, ids };
  }
  const aTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

  test('renews an expired lease at once, and once for all who ask meanwhile', async () => {
    const { clock, redis, ids } = await opened();
    const before = await ids.next();
    clock.step(120_000);
    for (let tries = 0; tries < 100; tries++)
      expect(() => ids.next()).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
    expect(ids.problem()).toContain('has expired');
    await aTurn();
    expect(redis.asked).toBe(2);
    expect(ids.problem()).toBeNull();
    expect(firstOutOfOrder([before, await ids.next()])).toBeUndefined();
  });

  test('is renewed by whoever asks for its problem, so that an idle instance becomes ready', async () => {
    const { clock, ids } = await opened();
    clock.step(120_000);
    expect(ids.problem()).toContain('has expired');
    await aTurn();
    expect(ids.problem()).toBeNull();
  });

  test('does not ask a Redis without an answer again for every id', async () => {
    const { log, events } = listeningLog();
    const { clock, redis, ids } = await opened(log);
    clock.step(120_000);
    redis.answers = false;
    for (let tries = 0; tries < 100; tries++) {
      expect(() => ids.next()).toThrow(withCode('WORKER_ID_UNAVAILABLE'));
      await aTurn();
    }
    expect(redis.asked).toBe(2);
    expect(events).toEqual(['worker-id-not-renewed']);
  });

  test('has a problem while the clock is back, and says by how much', async () => {
    const { clock, redis, ids } = await opened();
    expect(ids.problem()).toBeNull();
    clock.step(-60_000);
    expect(ids.problem()).toContain('the clock is 60000 ms behind');
    clock.step(60_000);
    expect(ids.problem()).toBeNull();
    expect(redis.asked).toBe(1); // A renewal cannot set a clock right.
  });
});

describe('ids of the Redis worker', () => {
  test('are the seconds since 2022, then 32 bits of the count, with every digit', () => {
    expect(composeId(Date.UTC(2022, 0), 1)).toBe('1');
    expect(composeId(Date.UTC(2022, 0) + 1_999, 2)).toBe(String(2 ** 32 + 2));
    const seconds = BigInt(start - Date.UTC(2022, 0)) / 1_000n;
    expect(composeId(start, 4_294_967_295)).toBe((seconds * 2n ** 32n + 4_294_967_295n).toString());
  });

  test('fit in a BIGINT for decades', () => {
    expect(Id.safeParse(composeId(Date.UTC(2090, 0), 4_294_967_295)).success).toBe(true);
  });

  test.each([0, -1, 1.5, 2 ** 32, Number.NaN])('are not made of the count %d', (count) => {
    expect(() => composeId(start, count)).toThrow(withCode('ORDER_ID_NOT_COUNTED'));
  });

  test('are counted by the day of their second', () => {
    expect(counterKey(start - 1)).toBe('lockstep:order-ids:2026:11:19');
    expect(counterKey(start)).toBe('lockstep:order-ids:2026:11:20');
  });
});

describe('an id at the edge', () => {
  const edges = ['1', '7', '10', '9007199254740993', '999999999999999999', '9223372036854775807'];
  test.each(edges)('may be %j, and stays as it is', (id) => expect(Id.parse(id)).toBe(id));

  test.each([
    ...['0', '007', ' 7', '7 ', '7\n', '-1', '+1', '1.5', '1e3', '0x10', '1_000', '٧', '', 'abc'],
    ...['9223372036854775808', '9999999999999999999', '99999999999999999999', '{1}'],
    ...['1\r\nFLUSHALL', 7, 7n, ['7'], null, undefined],
  ])('may not be %o', (id) => expect(Id.safeParse(id).success).toBe(false));
});
