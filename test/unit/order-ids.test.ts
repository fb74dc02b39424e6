/** Order ids: ascending and unique whatever the clock does, and the same decimal string wherever they travel. */
import { describe, expect, test } from 'vitest';
import { Id } from '../../src/http/ids.ts';
import { snowflakes } from '../../src/orders/order-ids.ts';

const start = Date.UTC(2026, 10, 20);
const many = 200_000;

const clocks: Record<string, () => () => number> = {
  'runs on': () => {
    let reads = 0;
    return () => start + Math.floor(reads++ / 1_000);
  },
  'stands still': () => () => start,
  'steps back by an hour, again and again': () => {
    let reads = 0;
    return () => start + Math.floor(reads++ / 1_000) - (reads % 30_000 < 10_000 ? 3_600_000 : 0);
  },
};

const make = (count: number, next: () => string): string[] => Array.from({ length: count }, next);

describe('order ids', () => {
  test.each(Object.entries(clocks))('are unique and ascend while the clock %s', (_, clock) => {
    const ids = make(many, snowflakes(7, clock()));
    expect(new Set(ids).size).toBe(many);
    const outOfOrder = ids.findIndex((id, index) => index > 0 && BigInt(id) <= BigInt(ids[index - 1] ?? id));
    expect(outOfOrder).toBe(-1);
  });

  test('of two workers never meet, though their clocks agree', () => {
    const workers = Array.from({ length: 1_024 }, (_, worker) => worker);
    const ids = workers.flatMap((worker) =>
      make(
        100,
        snowflakes(worker, () => start),
      ),
    );
    expect(new Set(ids).size).toBe(102_400);
  });

  test('run ahead of a clock that stands still by no more than they must', () => {
    const last =
      make(
        many,
        snowflakes(0, () => start),
      ).at(-1) ?? '';
    const first = snowflakes(0, () => start)();
    const aheadMs = (BigInt(last) >> 22n) - (BigInt(first) >> 22n);
    expect(Number(aheadMs)).toBe(Math.floor((many - 1) / 4_096));
  });

  test('do not fit in a number, and survive JSON because they are strings', () => {
    const ids = make(
      100,
      snowflakes(1_023, () => start),
    );
    for (const id of ids) expect(BigInt(id)).toBeGreaterThan(BigInt(Number.MAX_SAFE_INTEGER));
    expect(JSON.parse(JSON.stringify(ids))).toEqual(ids);
    expect(ids.map((id) => String(Number(id)))).not.toEqual(ids);
  });

  test('are ids that the service itself accepts, and fit in a BIGINT for decades', () => {
    const decadesOn = snowflakes(1_023, () => Date.UTC(2090, 0));
    for (const id of [
      ...make(
        5_000,
        snowflakes(512, () => start),
      ),
      decadesOn(),
    ])
      expect(Id.safeParse(id).success).toBe(true);
  });
});

describe('an id at the edge', () => {
  test.each(['1', '7', '10', '9007199254740993', '999999999999999999', '9223372036854775807'])(
    'may be %j, and stays as it is',
    (id) => {
      expect(Id.parse(id)).toBe(id);
    },
  );

  test.each([
    '0',
    '007',
    ' 7',
    '7 ',
    '7\n',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '1_000',
    '٧',
    '9223372036854775808',
    '9999999999999999999',
    '99999999999999999999',
    '',
    'abc',
    '1\r\nFLUSHALL',
    '{1}',
  ])('may not be %j', (id) => {
    expect(Id.safeParse(id).success).toBe(false);
  });

  test.each([7, 7n, ['7'], null, undefined])('may not be anything but a string, such as %s', (id) => {
    expect(Id.safeParse(id).success).toBe(false);
  });
});
