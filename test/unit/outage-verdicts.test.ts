/** The drills that take servers away: what went wrong in an outage, and what they say. */

import { describe, expect, test } from 'vitest';
import { incidentsOf } from '../../src/lab/drills/alive-not-consuming.ts';
import {
  mysqlAway,
  mysqlFull,
  mysqlReadOnly,
  redisFull,
} from '../../src/lab/drills/database-outage.ts';
import {
  type Expectation,
  type ExpectedOutage,
  expected,
  judgeOutages,
  type Look,
  type SeenOutage,
  type Timeline,
  wrongIn,
} from '../../src/lab/drills/expectations.ts';
import { conclusionsOf, judgedFindings } from '../../src/lab/drills/lock-outages.ts';
import { playInOrder } from '../../src/lab/drills/outage.ts';
import { outagePhase, phasesAround, phaseTable } from '../../src/lab/drills/phases.ts';
import { resultText } from '../../src/lab/report/result-text.ts';
import { columns } from '../../src/lab/report/wrap.ts';
import { textIn } from '../../src/lab/stage/result.ts';
import type { Finding } from '../../src/service/audit/check.ts';
import type { CheckName } from '../../src/service/domain.ts';
import { serviceError } from '../../src/service/errors.ts';
import { type Bilingual, languages } from '../../src/texts/texts.ts';
import {
  at,
  away,
  load,
  outOfService,
  rowOf,
  said,
  sold,
  stopped,
  tried,
  verdictsOf,
} from './drill-cases.ts';
import { accepted, facts, type Given, row as orderRow, refused, unknown } from './facts.ts';

describe('an outage of lock servers', () => {
  const available = { ...stopped, row: rowOf('redlock', ['redis-2']), tries: load(() => sold) };
  const dead = { ...stopped, tries: load((ms) => (ms < 1_000 ? sold : away)) };
  const broken = { ...stopped, tries: load(() => ({ outcome: 'unknown' })), leftLocks: 19 };
  const wrong = (seen: SeenOutage) =>
    wrongIn(seen, seen.row.expects, facts()).map(({ en }) => en.split(': ')[1]);

  test.each([
    ['it refuses all', stopped],
    ['enough servers were left, and it went on selling', available],
    [
      'the rung claims to leave locks',
      { ...stopped, leftLocks: 19, row: rowOf('redis-expiry', ['redis-main']) },
    ],
  ])('is as claimed when %s', (_, seen) => {
    expect(wrong(seen)).toEqual([]);
  });

  const again = ['never sold again', 'locks left that nobody holds'];
  const refusal = 'no attempt was refused as lock-service-unavailable';
  test.each([
    ['multilock', ['redis-2'], [refusal, ...again]],
    ['redlock', ['redis-2'], ['sold 0 in 10 attempts meanwhile', ...again]],
    ['redlock', ['redis-2', 'redis-3'], [refusal, ...again]],
  ] as const)('is expected of %s without %j', (rung, servers, texts) => {
    expect(wrong({ ...broken, row: rowOf(rung, servers) })).toEqual(texts);
  });

  test('is not as claimed when it sells although it should not, or sells late', () => {
    const late = [...dead.tries, tried(accepted('1', 'a'), 8_000, 8_005)];
    expect(wrong({ ...stopped, tries: load(() => sold) })[0]).toBe(
      'sold 10, and should sell nothing',
    );
    expect(wrong({ ...stopped, until: at(9_000), tries: late })).toEqual([
      'sold again after 5905 ms, the limit is 2000 ms',
    ]);
  });

  test('has shown nothing without a purchase meanwhile', () => {
    const tries = stopped.tries.filter(({ outcome }) => outcome === 'accepted');
    const { needs = [] } = stopped.row;
    expect(wrongIn({ ...stopped, tries }, needs, facts())).toEqual([
      {
        en: 'multilock, 1 of 3 stopped: nobody tried meanwhile',
        zh: 'multilock，1/3 台停止：期间没有人下单',
      },
    ]);
  });

  const finding = (check: CheckName): Finding => ({
    ...{ check, verdict: 'held', count: 0, first: ['stock-below-zero', -1] },
  });
  test.each([
    ['redlock', ['progress', 'no-oversell']],
    ['redis-no-expiry', ['no-oversell']],
  ])('of %s is judged by %j: by progress where it claims to leave no lock', (rung, judged) => {
    const findings = [finding('progress'), finding('no-oversell')];
    const own = { verdict: 'violated', findings, skipped: [] } as const;
    const checks = judgedFindings({ facts: facts({ rung }), audit: own });
    expect(checks.map(({ finding: { check } }) => check)).toEqual(judged);
  });

  test('has phases: the attempts by outcome, the gap, and the time until the next sale', () => {
    const because = 'lock-service-unavailable';
    expect(phasesAround('multilock', stopped)).toMatchObject([
      { phase: { en: 'before', zh: '之前' }, accepted: 10, refusedBecause: {}, p99Ms: 5 },
      {
        ...{ phase: { en: '1 of 3 stopped', zh: '1/3 台停止' }, accepted: 0 },
        ...{ refusedBecause: { [because]: 10 }, unknown: 0 },
        ...{ withoutSalesMs: 1_400, resumedAfterMs: 205 },
      },
      { phase: { en: 'after', zh: '之后' }, accepted: 17, refusedBecause: { [because]: 2 } },
    ]);
    expect(phasesAround('multilock', dead)[1]).toMatchObject({
      withoutSalesMs: 3_100,
      resumedAfterMs: null,
    });
  });

  test('has its phases as a table in the text of the drill', () => {
    const table = phaseTable(phasesAround('multilock', stopped));
    const judged = { verdict: 'held', reasons: [], figures: {}, faults: {} } as const;
    const text = resultText({ ...judged, tables: [table] });
    expect(text).toMatch(/multilock 1 of 3 stopped +0 +10 +10 +0 +5 +1400 +205/);
    expect(text.split('\n').filter((line) => columns(line) > 79)).toEqual([]);
    expect(text).toMatch(/^away +so many of the refused: lock-service-unavailable$/m);
    for (const [name, says] of Object.entries(table.legend ?? {})) {
      expect(table.head.map((each) => textIn('en', each))).toContain(name);
      for (const language of languages) expect(textIn(language, says)).not.toBe('');
    }
  });

  test('comes to one sentence for each rung: where it sold on, and when it was back', () => {
    const two = { ...stopped, row: rowOf('redlock', ['redis-2', 'redis-3']) };
    expect(conclusionsOf([dead, available, two]).map(({ en }) => en)).toEqual([
      'multilock sold nothing with 1 of 3 stopped; it did not sell again after each of them.',
      'redlock sold on with 1 of 3 stopped; sold nothing with 2 of 3 stopped; it sold again within 205 ms.',
    ]);
  });
});

/** Two bought before and during an outage, from 20 ms to 90 ms, and one after it. */
const first = tried(accepted('1', 'a'), 5, 10);
const second = tried(accepted('2', 'b'), 25, 30);
const last = tried(accepted('3', 'c'), 92, 96);
const look = (isReady: boolean, body = ''): Look => ({ at: at(50), isReady, body });
const survived: Timeline = {
  ...{ ...outOfService, brokenAt: at(20), downFrom: at(20), downUntil: at(90) },
  ...{ mendedAt: at(90), until: at(100) },
  ...{ recordedAt: at(95), nextRecordedAt: at(97), waitingMost: 1, exitCodes: [] },
  ...{ tries: [first, second, last], looks: [look(false), look(true)] },
};

describe('what is expected of an outage', () => {
  const { boughtBefore, sellsOn, sellsNothing, triedMeanwhile, ordersWait } = expected;
  const { turnsUnready, staysReady, readyAtItsEnd, noLocksLeft, soldAgainWithin } = expected;
  const { recordedWithin, recordsAgainWithin, withoutSalesFor, refusesAs, readyzSays } = expected;
  const { exitCodes } = expected;
  const lost = tried(unknown('2'), 31);
  /** It still waited when all was mended. */
  const late = tried(accepted('2', 'b'), 31, 91);
  const [half, two] = [
    [second, lost],
    [second, second],
  ];
  const refusal = tried(refused('4', 'not-ready'), 31);
  const dead = [look(false), look(false), look(true)];

  test.each<[string, Expectation, right: Partial<Timeline>, wrong: Partial<Timeline>]>([
    ['nobody bought before', boughtBefore, {}, { tries: [second, last] }],
    ['nobody bought before', boughtBefore, {}, { calmFrom: at(6) }],
    ['sold 1 in 3 attempts meanwhile', sellsOn, { tries: half }, { tries: [...half, lost] }],
    ['sold 1, and should sell nothing', sellsNothing, { tries: [lost, late] }, {}],
    ['nobody tried meanwhile', triedMeanwhile, {}, { tries: [first, last] }],
    ['never sold again', soldAgainWithin(6), {}, { tries: [first, second] }],
    ['sold again after 6 ms, the limit is 5 ms', soldAgainWithin(5), { mendedAt: at(91) }, {}],
    ['locks left that nobody holds: 1', noLocksLeft, { leftLocks: null }, { leftLocks: 1 }],
    [
      '3 were sold, and at most 1 orders waited',
      ordersWait,
      { tries: two },
      { tries: [...two, second] },
    ],
    ['/readyz stayed ready', turnsUnready, {}, { looks: [look(true)] }],
    ['/readyz was not ready', staysReady, {}, { looks: dead }],
    ['not ready at its end', readyAtItsEnd, {}, { looks: [look(true), look(false)] }],
    ['recorded after 5 ms, the limit is 4 ms', recordedWithin(4), { recordedAt: at(94) }, {}],
    ['never recorded', recordedWithin(4), { recordedAt: at(94) }, { recordedAt: null }],
    [
      'recorded again after 7 ms, the limit is 6 ms',
      recordsAgainWithin(6),
      { nextRecordedAt: at(96) },
      {},
    ],
    ['never recorded again', recordsAgainWithin(7), {}, { nextRecordedAt: null }],
    [
      'no sale for 67 ms, the limit is 66 ms',
      withoutSalesFor(66),
      { tries: [second], until: at(91) },
      {},
    ],
    ['never full', refusesAs('not-ready', said('never full')), { tries: [refusal] }, {}],
    ['/readyz never said so: full', readyzSays('full'), { looks: [look(true, 'is full')] }, {}],
    ['exit codes of ended processes: a signal', exitCodes(), {}, { exitCodes: [null] }],
    ['exit codes of ended processes: none', exitCodes(75), { exitCodes: [75] }, {}],
  ])('%s', (text, expectation, right, wrong) => {
    expect(expectation({ ...survived, ...right }, facts())).toBeNull();
    expect(expectation({ ...survived, ...wrong }, facts())?.en).toBe(text);
  });
});

describe('the verdict of outages under load', () => {
  const given: Given = { attempts: [first, second], history: [], locked: false };
  const row: ExpectedOutage = { name: 'it', expects: [() => null] };
  type Changes = Partial<SeenOutage> & {
    readonly unfinished?: Bilingual[];
    readonly given?: Given;
  };
  const judged = ({ given: own, unfinished = [], ...changes }: Changes) =>
    judgeOutages([
      { seen: [{ ...survived, row, ...changes }], unfinished, facts: facts({ ...given, ...own }) },
    ]);
  const outages = verdictsOf('it', judged);
  const failed = { ...orderRow('b', '2'), status: 'failed', reason: 'undeliverable' } as const;

  outages.holds({ 'nothing is wrong': {} });
  outages.is('violated', {
    'it: wrong': { row: { ...row, expects: [() => null, () => said('wrong')] } },
    'it: not ready at its end': { looks: [look(false)] },
  });
  outages.isAlso('violated', {
    'voucher 9: 1 orders were dead-lettered': { given: { orders: [orderRow('a', '1'), failed] } },
    'voucher 9: 1 accepted orders are not recorded': { given: { orders: [orderRow('a', '1')] } },
    'no-oversell violated': { given: { stock: -1 } },
  });
  outages.is('unknown', {
    'it: nobody bought before': { tries: [second, last] },
    'it: idle': { row: { ...row, needs: [() => said('idle')] } },
    'two: waited in vain': { unfinished: [said('two: waited in vain')] },
  });

  test('keeps the facts that do not hold, and has the gap in a phase', () => {
    expect(judged({ given: { stock: -1 } }).facts).toHaveLength(1);
    expect(judged({}).facts).toEqual([]);
    expect(outagePhase('lua-stream', { ...survived, row }, at(20), at(90))).toMatchObject({
      ...{ phase: 'it', accepted: 1, withoutSalesMs: 67, resumedAfterMs: 6 },
    });
  });

  test('is by the findings that count', () => {
    const load = { seen: [{ ...survived, row }], unfinished: [] };
    const loads = [{ ...load, facts: facts({ ...given, stock: -1 }) }];
    expect(judgeOutages(loads, { judged: () => [] }).verdict).toBe('held');
  });

  const all = ['one', 'two', 'three'].map((name) => ({ name, expects: [] }));

  test('that waits for something in vain ends the load, and nothing is known', async () => {
    const { seen, unfinished } = await playInOrder(all, async (each) => {
      if (each.name === 'two') throw serviceError('DEADLINE_PASSED', 'the promotion', 20_000);
      return { ...survived, row: each };
    });
    expect(seen.map(({ row: { name } }) => name)).toEqual(['one']);
    expect(unfinished.map(({ en }) => en)).toEqual([
      'two: Waited 20000 ms for the promotion, and it did not happen.',
    ]);
  });

  test('whose error is no deadline ends the drill', async () => {
    const broken = playInOrder(all, () => Promise.reject(new RangeError('broken')));
    await expect(broken).rejects.toThrow('broken');
  });
});

describe('what a drill expects of its outage', () => {
  /** Ready, and it stays so; all else is wrong, and late: recorded after 20 s. */
  const worst: Timeline = {
    ...{ ...survived, recordedAt: null, nextRecordedAt: at(20_090), until: at(20_100) },
    ...{ tries: [first, second, ...[1, 2].map(() => tried(unknown('2'), 31))], waitingMost: 0 },
    ...{ looks: [look(true)], exitCodes: [null] },
  };
  const wrong = ({ expects, needs = [] }: Omit<ExpectedOutage, 'name'>, isReady: boolean) =>
    [...needs, ...expects].flatMap(
      (each) => each({ ...worst, looks: [look(isReady)] }, facts())?.en ?? [],
    );
  const signal = 'exit codes of ended processes: a signal';
  const drains = [
    ...['never sold again', '1 were sold, and at most 0 orders waited', 'never recorded', signal],
  ];
  const drainsOn = ['sold 1 in 3 attempts meanwhile', ...drains];
  const says = (sign: string) => `/readyz never said so: ${sign}`;

  test.each([
    ['MySQL away', mysqlAway, [...drainsOn, says('"unanswered":["MySQL"]')]],
    ['MySQL read-only', mysqlReadOnly, [...drainsOn, says('"readOnly":["MySQL"]')]],
    [
      'MySQL full',
      ...[mysqlFull, [...drainsOn, says('"status":"degraded","unanswered":[],"readOnly":[]')]],
    ],
    ['Redis full', redisFull, ['Redis was never full', ...drains, says('"unanswered":["MySQL"]')]],
  ] as const)('%s', (_, row, texts) => {
    expect(wrong(row, true)).toEqual(texts);
  });

  const recorded = (ms: number) => `recorded again after 20000 ms, the limit is ${ms} ms`;
  const survives = [recorded(5_000), signal];
  const failover = [
    ...survives,
    '/readyz stayed ready',
    'no sale for 20075 ms, the limit is 10000 ms',
  ];
  const incidents = [...incidentsOf('sentinel', 5_000), ...incidentsOf('proxied', 5_000)];

  test.each([
    ['frozenMaster', true, failover],
    ['killedMaster', true, failover],
    ['noRedis', true, [...survives, '/readyz stayed ready']],
    ['silentNetwork', true, [...survives, '/readyz stayed ready']],
    ['silentForWorker', false, [...survives, '/readyz was not ready']],
    ['lostGroup', false, survives],
    ['hungWorker', false, [recorded(11_000), '/readyz was not ready', signal]],
  ])('%s', (key, isReady, texts) => {
    const own = incidents.filter((each) => each.key === key);
    expect(own.flatMap((row) => wrong(row, isReady))).toEqual(texts);
  });

  test('an incident replaces no process but the hung worker', () => {
    const seen = { ...worst, exitCodes: [75] };
    const replaced = incidents.filter(
      ({ expects }) =>
        !expects.some((each) => each(seen, facts())?.en === 'exit codes of ended processes: 75'),
    );
    expect(replaced.map(({ key }) => key)).toEqual(['hungWorker']);
  });
});
