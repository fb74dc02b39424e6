/** The drill with k6: its points are attempts, and its verdict is k6's and the audit's. */
import { describe, expect, test } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { missedFaults } from '../../src/lab/drills/k6-failover.ts';
import { k6Figures, k6Verdict, voucherOf } from '../../src/lab/drills/k6-figures.ts';
import { stopServer } from '../../src/lab/faults/processes/stop-server.ts';
import { attemptReader, type K6Attempt } from '../../src/lab/workload/k6.ts';
import { facts as factsOf } from './facts.ts';

const point = (metric: string, value: number, tags: Readonly<Record<string, string>>): string =>
  JSON.stringify({ metric, type: 'Point', data: { time: new Date().toISOString(), value, tags } });

describe('a point of k6', () => {
  const read = attemptReader();

  test('of the latency is the attempt, with the outcome of the census', () => {
    expect(read(point('purchase_latency', 12.5, { outcome: 'accepted' }))).toMatchObject({
      outcome: 'accepted',
      latencyMs: 12.5,
    });
    expect(read(point('purchase_latency', 1, { outcome: 'not-ready' }))).toMatchObject({
      outcome: 'refused',
      reason: 'not-ready',
    });
    for (const outcome of ['unknown', 'unexpected'])
      expect(read(point('purchase_latency', 1, { outcome }))?.outcome).toBe('unknown');
  });

  test('of a counter is an attempt only when no answer came', () => {
    const lost = read(point('unknown', 1, { answer: 'none' }));
    expect(lost).toMatchObject({ outcome: 'unknown' });
    expect(lost).not.toHaveProperty('latencyMs');
    const refused = read(point('no_connection', 1, { answer: 'none' }));
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'no-connection' });
    expect(read(point('unknown', 1, { second: '3' }))).toBeNull();
    expect(read(point('accepted', 1, {}))).toBeNull();
    expect(read('{"metric":"unknown","type":"Metric","data":{"name":"unknown"}}')).toBeNull();
  });

  test('has the clock of the history', () => {
    const before = process.hrtime.bigint();
    const { answeredAt = '0' } = read(point('purchase_latency', 1, { outcome: 'accepted' })) ?? {};
    const offMs = Number(BigInt(answeredAt) - before) / 1_000_000;
    expect(Math.abs(offMs)).toBeLessThan(1_000);
  });
});

const summary = `
failover.js on lua-stream, voucher 12

CENSUS  1606 attempts, 3 dropped iterations
  accepted                      1141
  not-ready                      343
  unknown                        119

SAFETY  must hold, however few are sold
  ✓ nothing is oversold: 1141 orders, 1550 in stock

AVAILABILITY  1141 orders (76.0 %) for 1500 users
  4 of 30 seconds without a sale; longest gap 2 s
`;
const run = { exitCode: 0, summary, errors: '' };
const sold = factsOf();
const audits = [{ facts: sold, audit: audit(sold) }];

test('the figures are those of the summary', () => {
  expect(voucherOf(run)).toBe('12');
  expect(k6Figures(run)).toEqual({
    ...{ attempts: 1_606, accepted: 1_141, unknown: 119, droppedIterations: 3 },
    ...{ wholeSecondsWithoutSale: 4, longestGapWholeSeconds: 2 },
  });
});

describe('the verdict of the drill with k6', () => {
  test('is held when every threshold was met and the audit held', () => {
    expect(audits[0]?.audit.verdict).toBe('held');
    expect(k6Verdict(run, audits, [])).toEqual({ verdict: 'held', reasons: [] });
  });

  test('is violated by a threshold that was not met', () => {
    const broken = summary.replace('✓ nothing is oversold', '✗ nothing is oversold');
    const { verdict, reasons } = k6Verdict({ ...run, exitCode: 99, summary: broken }, audits, []);
    expect(verdict).toBe('violated');
    expect(reasons).toEqual([expect.stringContaining('nothing is oversold: 1141 orders')]);
  });

  test('is unknown when k6 could not measure a threshold, or does not say which was not met', () => {
    const unmeasured = summary.replace('✓', '?');
    for (const text of [unmeasured, summary]) {
      const judged = k6Verdict({ ...run, exitCode: 99, summary: text }, audits, []);
      expect(judged).toMatchObject({ verdict: 'unknown', reasons: [expect.any(String)] });
    }
  });

  test('is unknown when k6 is missing, and says so', () => {
    const missing = { exitCode: 2, summary: '', errors: 'k6 is missing on PATH' };
    const { verdict, reasons } = k6Verdict(missing, [], []);
    expect(verdict).toBe('unknown');
    expect(reasons.join()).toContain('k6 is missing on PATH');
  });

  test('is unknown when nobody bought, or no voucher was audited', () => {
    const none = { ...run, summary: summary.replace('accepted                      1141', '') };
    expect(k6Verdict(none, audits, [])).toEqual({ verdict: 'unknown', reasons: ['nobody bought'] });
    expect(k6Verdict(run, [], []).verdict).toBe('unknown');
  });

  test('is violated by the audit, although k6 was content', () => {
    const stolen = { ...sold, mysql: { ...sold.mysql, stock: sold.mysql.stock - 1 } };
    const judged = k6Verdict(run, [{ facts: stolen, audit: audit(stolen) }], []);
    expect(judged.verdict).toBe('violated');
    expect(judged.reasons.join()).toContain('voucher 9, no-oversell violated');
  });

  test('is unknown when a fault was missed', () => {
    const judged = k6Verdict(run, audits, ['there was no kill nginx']);
    expect(judged).toEqual({ verdict: 'unknown', reasons: ['there was no kill nginx'] });
  });
});

describe('a fault was missed', () => {
  const fault = stopServer('redis-main');
  const played = [{ name: fault.name, from: 100n, to: 200n }];
  const at = (answeredAt: string, outcome: 'accepted' | 'refused') =>
    ({ answeredAt, outcome }) as K6Attempt;
  const sales = [at('50', 'accepted'), at('150', 'accepted'), at('200', 'refused')];

  test('when it was not played', () => {
    expect(missedFaults([{ fault }], sales, [])).toEqual(['there was no stop redis-main']);
    expect(missedFaults([{ fault }], sales, played)).toEqual([]);
  });

  test('when everybody could buy while nobody should', () => {
    const away = [{ fault, isAway: true }] as const;
    const missed = ['nobody was refused during stop redis-main'];
    expect(missedFaults(away, sales, played)).toEqual(missed);
    expect(missedFaults(away, [...sales, at('199', 'refused')], played)).toEqual([]);
  });
});
