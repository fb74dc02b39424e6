/** The drills that take servers away: what went wrong in an outage, and what they say. */

import { describe, expect, test } from 'vitest';
import { auditAll } from '../../src/lab/drills/audited.ts';
import {
  type DatabaseOutage,
  databaseOutagePhases,
  databaseOutageReasons,
  outageFigures,
} from '../../src/lab/drills/database-outage-figures.ts';
import {
  incidentFigures,
  incidentPhase,
  incidentReasons,
  playInOrder,
  type Seen,
} from '../../src/lab/drills/incident-figures.ts';
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
import { meaningIn } from '../../src/lab/stage/result.ts';
import { audit } from '../../src/service/audit/audit.ts';
import type { Finding } from '../../src/service/audit/finding.ts';
import type { CheckName, Verdict } from '../../src/service/domain.ts';
import { serviceError } from '../../src/service/errors.ts';
import { languages } from '../../src/texts/texts.ts';
import { at, away, load, sold, stopped, tried, verdictsOf } from './drill-cases.ts';
import { accepted, facts, refused, row, unknown } from './facts.ts';

describe('an outage of lock servers', () => {
  const answerAt = (ms: number) => (ms >= 1_000 && ms < 2_300 ? away : sold);
  const available = { ...stopped, rung: 'redlock', sells: true, tries: load(() => sold) };
  const dead = { ...stopped, tries: load((ms) => (ms < 1_000 ? sold : away)) };

  const finding = (check: CheckName, verdict: Verdict): Finding => ({
    ...{
      check,
      verdict,
      count: verdict === 'violated' ? 1 : 0,
      first: ['stock-below-zero', -1],
    },
  });
  type Changes = Partial<Outage> & { readonly audited?: Verdict };
  const outage = verdictsOf('it', ({ audited = 'held', ...changes }: Changes) => {
    const found = { voucherId: '7', finding: finding('one-order-per-user', audited) };
    return outageReasons([{ ...stopped, ...changes }], [found]);
  });

  outage.holds({
    'enough servers were left, and it went on selling': available,
    'an attempt still waited when the servers started again': {
      tries: [...stopped.tries, tried(accepted('1', 'a'), 1_998, 2_003)],
    },
    'locks are left, and the rung claims to leave some': { leftLocks: 19, leavesLocks: true },
  });
  const busy = { outcome: 'refused', reason: 'busy' } as const;
  outage.is('violated', {
    'multilock, 1 of 3 stopped: sold 1, and should sell nothing': {
      tries: load((ms) => (ms === 1_500 ? sold : answerAt(ms))),
    },
    'redlock, 1 of 3 stopped: sold 0 in 10 attempts, and should go on selling': {
      ...{ ...available, tries: stopped.tries },
    },
    'multilock, 1 of 3 stopped: no attempt was refused as lock-service-unavailable': {
      tries: load((ms) => (answerAt(ms) === away ? busy : sold)),
    },
    'multilock, 1 of 3 stopped: no sale after the servers were back': dead,
    'multilock, 1 of 3 stopped: the first sale was 5905 ms after the servers were back': {
      ...{ until: at(9_000), tries: [...dead.tries, tried(accepted('1', 'a'), 8_000, 8_005)] },
    },
    'multilock, 1 of 3 stopped: locks left that nobody holds: 19': { leftLocks: 19 },
    'voucher 7, one-order-per-user violated: stock is -1': { audited: 'violated' },
  });
  outage.is('unknown', {
    'voucher 7, one-order-per-user unknown: stock is -1': { audited: 'unknown' },
    'multilock, 1 of 3 stopped: nobody bought before': {
      tries: load((ms) => (ms < 2_300 ? away : sold)),
    },
    'redlock, 1 of 3 stopped: nobody tried meanwhile': {
      ...{ ...available, tries: stopped.tries.filter(({ outcome }) => outcome === 'accepted') },
    },
  });

  test.each([
    ['redlock', ['progress', 'no-oversell']],
    ['redis-no-expiry', ['no-oversell']],
  ])('of %s is judged by %j: by progress where it claims to leave no lock', (rung, judged) => {
    const findings = [finding('progress', 'violated'), finding('no-oversell', 'held')];
    const own = { verdict: 'violated', findings, skipped: [] } as const;
    const checks = judgedFindings({ facts: facts({ rung }), audit: own });
    expect(checks.map(({ finding: { check } }) => check)).toEqual(judged);
  });

  test('has phases: the attempts by outcome, the gap, and the time until the next sale', () => {
    const because = 'lock-service-unavailable';
    expect(phasesOf(stopped)).toMatchObject([
      { phase: 'before', accepted: 10, refusedBecause: {}, p99Ms: 5 },
      {
        ...{ phase: '1 of 3 stopped', accepted: 0, refusedBecause: { [because]: 10 }, unknown: 0 },
        ...{ withoutSalesMs: 1_400, resumedAfterMs: 205 },
      },
      { phase: 'after', accepted: 17, refusedBecause: { [because]: 2 } },
    ]);
    expect(phasesOf(dead)[1]).toMatchObject({ withoutSalesMs: 3_100, resumedAfterMs: null });
  });

  test('has its phases as a table in the text of the drill', () => {
    const table = phaseTable(phasesOf(stopped));
    const judged = { verdict: 'held', reasons: [], figures: {}, faults: {} } as const;
    const text = resultText({ ...judged, tables: [table] });
    expect(text).toMatch(/multilock 1 of 3 stopped +0 +10 +10 +0 +5 +1400 +205/);
    expect(text.split('\n').filter((line) => columns(line) > 79)).toEqual([]);
    expect(text).toMatch(/^away +so many of the refused: lock-service-unavailable$/m);
    for (const [name, says] of Object.entries(table.legend ?? {})) {
      expect(table.head).toContain(name);
      for (const language of languages) expect(meaningIn(language, says)).not.toBe('');
    }
  });

  test('comes to one sentence for each rung: where it sold on, and when it was back', () => {
    const two = { ...stopped, rung: 'redlock', servers: ['redis-2', 'redis-3'] };
    expect(conclusionsOf([dead, available, two]).map(({ en }) => en)).toEqual([
      'multilock sold nothing with 1 of 3 stopped; it did not sell again after each of them.',
      'redlock sold on with 1 of 3 stopped; sold nothing with 2 of 3 stopped; it sold again within 205 ms.',
    ]);
  });
});

describe('an outage of the database', () => {
  const first = tried(accepted('1', 'a'), 5, 10);
  const second = tried(accepted('2', 'b'), 25, 30);
  const last = tried(accepted('3', 'c'), 92, 96);
  const degraded = '{"status":"degraded","unanswered":["MySQL"],"readOnly":[]}';
  /** One bought before the outage, one during it, one after it; the first two are in the facts. */
  const survived: DatabaseOutage = {
    ...{ name: 'stop mysql', state: 'unanswered', calmFrom: 0n, brokenAt: at(20) },
    ...{ mendedAt: at(90), recordedAt: at(95), until: at(100), waitingMost: 1, replaced: 0 },
    ...{ fillsRedis: false, tries: [first, second, last], readiness: [degraded] },
    facts: facts({ attempts: [first, second], history: [], locked: false }),
  };
  const outage = verdictsOf('it', (changes: Partial<DatabaseOutage>) => {
    const seen = { ...survived, ...changes };
    return databaseOutageReasons(seen, { facts: seen.facts, audit: audit(seen.facts) });
  });
  const full = [31, 32, 33].map((ms) => tried(refused('4', 'not-ready'), ms, ms));
  const tries = [first, second, ...full, last];
  const failed = { ...row('b', '2'), status: 'failed', reason: 'undeliverable' } as const;
  const ok = ['{"status":"ok"}'];

  outage.holds({
    'it fills Redis, and most are refused': { fillsRedis: true, tries },
  });
  outage.is('violated', {
    'stop mysql: sold 0 in 1 attempts meanwhile': {
      tries: [first, tried(unknown('2'), 25, 30), last],
    },
    'stop mysql: nothing was sold afterwards': { tries: [first, second] },
    'stop mysql: 1 were sold, and at most 0 orders waited': { waitingMost: 0 },
    'stop mysql: not every order was recorded afterwards': { recordedAt: null },
    'stop mysql: /readyz never said so: "unanswered":["MySQL"]': { readiness: ok },
    'stop mysql: /readyz never said so: "readOnly":["MySQL"]': { state: 'readOnly' },
    'stop mysql: /readyz never said so: "status":"degraded","unanswered":[],"readOnly":[]': {
      state: 'behind',
    },
    'stop mysql: 1 processes were replaced, and none was stuck': { replaced: 1 },
  });
  outage.isAlso('violated', {
    'stop mysql: 1 orders were dead-lettered': {
      facts: facts({ orders: [row('a', '1'), failed] }),
    },
  });
  outage.is('unknown', {
    'stop mysql: nobody bought before': { tries: [second, last] },
    'stop mysql: Redis was never full': { fillsRedis: true },
  });

  test('has what was sold, and how late it was recorded, in its figures and phases', () => {
    expect(outageFigures(survived)).toEqual({
      ...{ soldMeanwhile: 1, waitingMost: 1, recordedMs: 5 },
      ...{ deadLettered: 0, readyzSaidSo: 1, replaced: 0 },
    });
    expect(databaseOutagePhases('lua-stream', survived)).toMatchObject([
      { phase: 'before', accepted: 1 },
      { phase: 'stop mysql', accepted: 1, withoutSalesMs: 66 },
      { phase: 'after', accepted: 1 },
    ]);
  });
});

describe('an incident', () => {
  const sale = (ms: number) => tried(accepted('1', 'a'), ms, ms + 5);
  const ready = (ms: number, isReady: boolean) => ({ at: at(ms), isReady });
  const incident: Seen['incident'] = {
    ...{ name: 'master frozen', key: 'frozenMaster', recordedWithinMs: 5_000 },
    ...{ readyz: 'not-ready', exitCodes: [] },
  };
  /** Broken from 1,000 ms to 3,000 ms. */
  const survived: Seen = {
    ...{ incident, calmFrom: at(0), brokenAt: at(1_000), mendedAt: at(3_000) },
    ...{ recordedAt: at(3_900), until: at(5_000), exitCodes: [] },
    tries: [sale(900), sale(3_200), sale(4_500)],
    readiness: [ready(1_500, false), ready(4_000, true)],
  };
  const seen = verdictsOf('it', (changes: Partial<Seen>) =>
    incidentReasons({ seen: [{ ...survived, ...changes }], unfinished: [] }, []),
  );
  const staysReady = { ...incident, readyz: 'ready' } as const;
  const awayOnce = [ready(1_500, false), ready(2_000, true), ready(2_500, true)];

  seen.holds({
    'one answer is missing of an instance that should stay ready': {
      ...{ incident: staysReady, readiness: awayOnce },
    },
    'nothing was sold for as long as may be': { incident: { ...incident, sellsWithinMs: 2_300 } },
  });
  seen.is('violated', {
    'master frozen: no order was recorded afterwards': { recordedAt: null },
    'master frozen: recorded after 5001 ms, the limit is 5000 ms': { recordedAt: at(8_001) },
    'master frozen: /readyz stayed ready': { readiness: [ready(1_500, true)] },
    'master frozen: /readyz was not ready': {
      ...{ incident: staysReady, readiness: [ready(1_400, false), ...awayOnce.slice(0, 2)] },
    },
    'master frozen: not ready at its end': { readiness: [ready(4_000, false)] },
    'master frozen: exit codes of ended processes: a signal': { exitCodes: [null] },
    'master frozen: exit codes of ended processes: none': {
      incident: { ...incident, exitCodes: [75] },
    },
    'master frozen: no sale for 2300 ms, the limit is 2299 ms': {
      incident: { ...incident, sellsWithinMs: 2_299 },
    },
  });
  seen.is('unknown', { 'master frozen: nobody bought before': { tries: [sale(4_500)] } });

  test('has when its orders were recorded in its figures, and its sales in its phase', () => {
    expect(incidentFigures([survived])).toEqual({
      ...{ frozenMasterRecordedMs: 900, frozenMasterNotReady: 1, processesReplaced: 0 },
    });
    expect(incidentPhase('lua-stream', survived)).toMatchObject({
      ...{ phase: 'master frozen', accepted: 2, withoutSalesMs: 2_300, resumedAfterMs: 205 },
    });
  });

  test('is violated by an accepted order that is queued for ever', () => {
    const audits = auditAll([facts({ attempts: [accepted('1', '7')], orders: [] })]);
    const { verdict, reasons } = incidentReasons({ seen: [survived], unfinished: [] }, audits);
    expect(verdict).toBe('violated');
    expect(reasons[0]).toMatch(/1 accepted orders are not recorded$/);
  });

  const named = (name: string) => ({ ...incident, name, play: async () => ({ mendedAt: at(0) }) });

  test('that waits for something in vain ends the load, and nothing is known', async () => {
    const all = await playInOrder(['one', 'two', 'three'].map(named), async (each) => {
      if (each.name === 'two') throw serviceError('DEADLINE_PASSED', 'the promotion', 20_000);
      return { ...survived, incident: each };
    });
    expect(all.seen.map(({ incident: { name } }) => name)).toEqual(['one']);
    const reasons = ['two: Waited 20000 ms for the promotion, and it did not happen.'];
    expect(incidentReasons(all, [])).toEqual({ verdict: 'unknown', reasons });
  });

  test('whose error is no deadline ends the drill', async () => {
    const broken = playInOrder([named('one')], () => Promise.reject(new RangeError('broken')));
    await expect(broken).rejects.toThrow('broken');
  });
});
