/** The verdict of stopped masters is red for each kind of damage, and for a claim that fails. */

import { describe, expect, test } from 'vitest';
import type { Finding } from '../../src/audit/finding.ts';
import type { AuditedFinding } from '../../src/lab/drills/audited.ts';
import {
  conclusionsOf,
  judgedFindings,
  type Outage,
  outageReasons,
  phasesOf,
} from '../../src/lab/drills/outages.ts';
import { phaseTable } from '../../src/lab/drills/phases.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import type { Try } from '../../src/lab/workload/steady-purchases.ts';
import { languages } from '../../src/ladder/texts/texts.ts';

const at = (ms: number): bigint => BigInt(ms) * 1_000_000n;

/** A try each 100 ms, answered 5 ms later. */
const someTry = (sentMs: number, answer: Pick<Try, 'outcome' | 'reason'>): Try => ({
  ...{ voucherId: '7', userId: String(sentMs), requestId: String(sentMs), latencyMs: 5 },
  ...{ sentAt: String(at(sentMs)), answeredAt: String(at(sentMs + 5)), ...answer },
});
const accepted = { outcome: 'accepted' } as const;
const away = { outcome: 'refused', reason: 'lock-service-unavailable' } as const;

/** Stopped from 1 s to 2 s, back at 2.1 s; it sells again at 2.3 s. */
const answerAt = (ms: number) => (ms >= 1_000 && ms < 2_300 ? away : accepted);
const tries = (answers: (ms: number) => Pick<Try, 'outcome' | 'reason'> = answerAt): Try[] =>
  Array.from({ length: 40 }, (_, index) => someTry(index * 100, answers(index * 100)));

const unavailable: Outage = {
  ...{ rung: 'multilock', servers: ['redis-2'], away: 'stopped', masters: 3, sells: false },
  ...{ calmFrom: at(0), stopAt: at(990), downAt: at(1_000), startAt: at(2_000) },
  ...{ backAt: at(2_100), until: at(4_000), tries: tries() },
  ...{ leavesLocks: false, leftLocks: 0 },
};
const available: Outage = {
  ...unavailable,
  rung: 'redlock',
  sells: true,
  tries: tries(() => accepted),
};

const finding = (verdict: Finding['verdict']): AuditedFinding => ({
  voucherId: '7',
  finding: {
    ...{ check: 'one-order-per-user', verdict, count: verdict === 'violated' ? 1 : 0 },
    ...(verdict === 'held' ? {} : { first: 'user 7 has 2 orders' }),
  },
});
const judged = (outage: Outage, verdict: Finding['verdict'] = 'held') =>
  outageReasons([outage], [finding(verdict)]);

describe('the phases of an outage', () => {
  test('have the attempts by outcome and reason, the gap, and the time until the next sale', () => {
    const [before, during, after] = phasesOf(unavailable);
    expect(before).toMatchObject({ phase: 'before', accepted: 10, refusedBecause: {}, p99Ms: 5 });
    expect(during).toMatchObject({
      ...{ phase: '1 of 3 stopped', accepted: 0, unknown: 0 },
      refusedBecause: { 'lock-service-unavailable': 10 },
      ...{ withoutSalesMs: 1_400, resumedAfterMs: 205 },
    });
    expect(after).toMatchObject({
      accepted: 17,
      refusedBecause: { 'lock-service-unavailable': 2 },
    });
  });

  test('count a gap up to the end, when nothing is sold any more', () => {
    const dead = { ...unavailable, tries: tries((ms) => (ms < 1_000 ? accepted : away)) };
    expect(phasesOf(dead)[1]).toMatchObject({ withoutSalesMs: 3_100, resumedAfterMs: null });
  });

  test('are a table in the text of the drill', () => {
    const phases = phasesOf(unavailable);
    const text = resultText({
      ...{ verdict: 'held', reasons: [], figures: {}, faults: {} },
      tables: [phaseTable(phases)],
    });
    expect(text).toMatch(/multilock 1 of 3 stopped +0 +10 +10 +0 +5 +1400 +205/);
    expect(text.split('\n').filter((line) => columns(line) > 79)).toEqual([]);
    expect(text).toMatch(/^away +so many of the refused: lock-service-unavailable$/m);
    for (const language of languages)
      for (const [name, says] of Object.entries(phaseTable(phases).legend ?? {}))
        expect([phaseTable(phases).head.includes(name), says[language] !== '']).toEqual([
          true,
          true,
        ]);
  });

  test('come to one sentence for each rung: where it sold on, and when it was back', () => {
    const two = { ...unavailable, rung: 'redlock', servers: ['redis-2', 'redis-3'] };
    const dead = { ...unavailable, tries: tries((ms) => (ms < 1_000 ? accepted : away)) };
    expect(conclusionsOf([dead, available, two]).map(({ en }) => en)).toEqual([
      'multilock sold nothing with 1 of 3 stopped; it did not sell again after each of them.',
      'redlock sold on with 1 of 3 stopped; sold nothing with 2 of 3 stopped; it sold again within 205 ms.',
    ]);
  });
});

describe('the verdict of an outage', () => {
  test.each([
    ['nothing was sold, and it was said', unavailable],
    ['enough servers were left, and it went on selling', available],
    [
      'an attempt still waited when the servers started again',
      { ...unavailable, tries: [...tries(), someTry(1_998, accepted)] },
    ],
  ])('is held when %s', (_, outage) => {
    expect(judged(outage)).toEqual({ verdict: 'held', reasons: [] });
  });

  test.each<[string, Outage, string]>([
    [
      'one was sold without the masters',
      { ...unavailable, tries: tries((ms) => (ms === 1_500 ? accepted : answerAt(ms))) },
      'multilock, 1 of 3 stopped: sold 1, and should sell nothing',
    ],
    [
      'nothing was sold with enough masters',
      { ...available, tries: tries() },
      'redlock, 1 of 3 stopped: sold 0 in 10 attempts, and should go on selling',
    ],
    [
      'the refusals do not say why',
      {
        ...unavailable,
        tries: tries((ms) =>
          answerAt(ms) === away ? { outcome: 'refused', reason: 'busy' } : accepted,
        ),
      },
      'multilock, 1 of 3 stopped: no attempt was refused as lock-service-unavailable',
    ],
    [
      'sales never resume',
      { ...unavailable, tries: tries((ms) => (ms < 1_000 ? accepted : away)) },
      'multilock, 1 of 3 stopped: no sale after the servers were back',
    ],
    [
      'sales resume too late',
      {
        ...unavailable,
        until: at(9_000),
        tries: [...tries((ms) => (ms < 1_000 ? accepted : away)), someTry(8_000, accepted)],
      },
      'multilock, 1 of 3 stopped: the first sale was 5905 ms after the servers were back',
    ],
    [
      'locks are left that nobody holds',
      { ...unavailable, leftLocks: 19 },
      'multilock, 1 of 3 stopped: locks left that nobody holds: 19',
    ],
  ])('is violated when %s', (_, outage, reason) => {
    expect(judged(outage)).toEqual({ verdict: 'violated', reasons: [reason] });
  });

  test.each<[string, Outage, string]>([
    [
      'nobody bought before',
      { ...unavailable, tries: tries((ms) => (ms < 2_300 ? away : accepted)) },
      'multilock, 1 of 3 stopped: nobody bought before',
    ],
    [
      'nobody tried meanwhile',
      { ...available, tries: tries().filter(({ outcome }) => outcome === 'accepted') },
      'redlock, 1 of 3 stopped: nobody tried meanwhile',
    ],
  ])('is unknown when %s', (_, outage, reason) => {
    expect(judged(outage)).toEqual({ verdict: 'unknown', reasons: [reason] });
  });

  test.each(['violated', 'unknown'] as const)('is %s when the audit is', (verdict) => {
    const reasons = [`voucher 7, one-order-per-user ${verdict}: user 7 has 2 orders`];
    expect(judged(unavailable, verdict)).toEqual({ verdict, reasons });
  });

  test('is held with locks that nobody holds, where the rung claims to leave some', () => {
    expect(judged({ ...unavailable, leftLocks: 19, leavesLocks: true }).verdict).toBe('held');
    expect(judged({ ...unavailable, leftLocks: null }).verdict).toBe('held');
  });

  test.each([
    ['redlock', ['progress', 'no-oversell']],
    ['redis-no-expiry', ['no-oversell']],
  ])(
    'of %s is judged by %j: by progress where the rung claims to leave no lock',
    (rung, judged) => {
      const findings = [finding('violated').finding, { ...finding('held').finding }].map(
        (each, index) => ({ ...each, check: (['progress', 'no-oversell'] as const)[index] }),
      ) as Finding[];
      const audit = { verdict: 'violated', findings, skipped: [] } as const;
      const facts = { voucherId: '7', rung } as Parameters<typeof judgedFindings>[0]['facts'];
      const checks = judgedFindings({ facts, audit }).map(({ finding: { check } }) => check);
      expect(checks).toEqual(judged);
    },
  );
});
