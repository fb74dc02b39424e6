/** The drill with k6: its points are attempts, and its verdict is k6's and the audit's. */

import { describe, expect, test } from 'vitest';
import { auditAll } from '../../src/lab/drills/audited.ts';
import { judgeK6, k6Figures, missedFaults, voucherOf } from '../../src/lab/drills/k6-failover.ts';
import { stopServer } from '../../src/lab/faults/process.ts';
import { attemptReader, type K6Attempt, type K6Run } from '../../src/lab/workload/k6.ts';
import type { Bilingual } from '../../src/texts/texts.ts';
import { said, verdictsOf } from './drill-cases.ts';
import { facts } from './facts.ts';

describe('a point of k6', () => {
  const read = attemptReader();
  const point = (metric: string, value: number, tags: object) => {
    const data = { time: new Date().toISOString(), value, tags };
    return read(JSON.stringify({ metric, type: 'Point', data }));
  };
  const latency = (outcome: string) => point('purchase_latency', 12.5, { outcome });

  test('of the latency is the attempt, with the outcome of the census', () => {
    expect(latency('accepted')).toMatchObject({ outcome: 'accepted', latencyMs: 12.5 });
    expect(latency('not-ready')).toMatchObject({ outcome: 'refused', reason: 'not-ready' });
    expect(latency('unknown')?.outcome).toBe('unknown');
    expect(latency('unexpected')?.outcome).toBe('unknown');
  });

  test('of a counter is an attempt only when no answer came', () => {
    const lost = point('unknown', 1, { answer: 'none' });
    expect(lost).toMatchObject({ outcome: 'unknown' });
    expect(lost).not.toHaveProperty('latencyMs');
    const refused = point('no_connection', 1, { answer: 'none' });
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'no-connection' });
    expect(point('unknown', 1, { second: '3' })).toBeNull();
    expect(point('accepted', 1, {})).toBeNull();
    expect(read('{"metric":"unknown","type":"Metric","data":{"name":"unknown"}}')).toBeNull();
  });

  test('has the clock of the history', () => {
    const before = process.hrtime.bigint();
    const offMs = Number(BigInt(latency('accepted')?.answeredAt ?? 0) - before) / 1_000_000;
    expect(Math.abs(offMs)).toBeLessThan(1_000);
  });
});

describe('the drill with k6', () => {
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
  const run: K6Run = { exitCode: 0, summary, errors: '' };
  const failed = (text: string) => ({ ...run, exitCode: 99, summary: text });

  test('has the figures of the summary', () => {
    expect(voucherOf(run)).toBe('12');
    expect(k6Figures(run)).toEqual({
      ...{ attempts: 1_606, accepted: 1_141, unknown: 119, droppedIterations: 3 },
      ...{ wholeSecondsWithoutSale: 4, longestGapWholeSeconds: 2 },
    });
  });

  interface Changes {
    readonly ran?: K6Run;
    readonly audited?: Parameters<typeof auditAll>[0];
    readonly missed?: readonly Bilingual[];
  }
  const drill = verdictsOf('it', ({ ran = run, audited = [facts()], missed = [] }: Changes) =>
    judgeK6(ran, auditAll(audited), missed),
  );
  const missing = { exitCode: 2, summary: '', errors: 'k6 is missing on PATH' };

  drill.holds({ 'every threshold was met, and the audit held': {} });
  drill.is('violated', {
    'k6: ✗ nothing is oversold: 1141 orders, 1550 in stock': {
      ran: failed(summary.replace('✓', '✗')),
    },
    // Although k6 was content.
    'voucher 9, no-oversell violated…': { audited: [facts({ stock: 0, redis: { stock: 0 } })] },
  });
  drill.is('unknown', {
    'k6: ? nothing is oversold: 1141 orders, 1550 in stock': {
      ran: failed(summary.replace('✓', '?')),
    },
    'k6: a threshold was not met, and the summary does not say which': { ran: failed(summary) },
    'k6 ended with exit code 2: k6 is missing on PATH': { ran: missing, audited: [] },
    'nobody bought': { ran: { ...run, summary: summary.replace(/^ {2}accepted.*$/m, '') } },
    'k6 named no voucher, so none was audited': { audited: [] },
    'there was no kill nginx': { missed: [said('there was no kill nginx')] },
  });
});

describe('a fault was missed', () => {
  const fault = stopServer('redis-main');
  const played = [{ name: fault.name, at: 100n, healedAt: 200n }];
  const at = (answeredAt: string, outcome: 'accepted' | 'refused') =>
    ({ answeredAt, outcome }) as K6Attempt;
  const sales = [at('50', 'accepted'), at('150', 'accepted'), at('200', 'refused')];

  test('when it was not played', () => {
    expect(missedFaults([{ fault }], sales, [])).toEqual([
      { en: 'there was no stop redis-main', zh: '没有注入 stop redis-main' },
    ]);
    expect(missedFaults([{ fault }], sales, played)).toEqual([]);
  });

  test('when everybody could buy while nobody should', () => {
    const away = [{ fault, isAway: true }] as const;
    const missed = ['nobody was refused during stop redis-main'];
    expect(missedFaults(away, sales, played).map(({ en }) => en)).toEqual(missed);
    expect(missedFaults(away, [...sales, at('199', 'refused')], played)).toEqual([]);
  });
});
