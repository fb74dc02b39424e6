/** The verdict of an incident, from what was seen. */
import { expect, test } from 'vitest';
import { DeadlinePassed } from '../../src/errors.ts';
import { auditAll } from '../../src/lab/drills/audited.ts';
import {
  incidentFigures,
  incidentPhase,
  incidentReasons,
  playInOrder,
  type Seen,
} from '../../src/lab/drills/incident-figures.ts';
import { accepted, facts } from './facts.ts';

const at = (ms: number): bigint => BigInt(ms) * 1_000_000n;

const sale = (sentMs: number, answeredMs = sentMs + 5) => ({
  ...{ voucherId: '1', userId: '1', requestId: 'r', outcome: 'accepted' as const, latencyMs: 5 },
  ...{ sentAt: String(at(sentMs)), answeredAt: String(at(answeredMs)) },
});

/** Broken from 1,000 ms to 3,000 ms. */
const survived: Seen = {
  incident: {
    ...{ name: 'master frozen', key: 'frozenMaster', recordedWithinMs: 5_000 },
    ...{ readyz: 'not-ready', exitCodes: [] },
  },
  ...{ calmFrom: at(0), brokenAt: at(1_000), mendedAt: at(3_000) },
  ...{ recordedAt: at(3_900), until: at(5_000) },
  tries: [sale(900), sale(3_200), sale(4_500)],
  readiness: [
    { at: at(1_500), isReady: false },
    { at: at(4_000), isReady: true },
  ],
  exitCodes: [],
};

const reasonsOf = (changes: Partial<Seen>) =>
  incidentReasons({ seen: [{ ...survived, ...changes }], unfinished: [] }, []);
const ready = [{ at: at(1_500), isReady: true }];
const stillAway = [{ at: at(4_000), isReady: false }];

test('an incident after which orders are recorded in time is survived', () => {
  expect(reasonsOf({})).toEqual({ verdict: 'held', reasons: [] });
  expect(incidentFigures([survived])).toEqual({
    frozenMasterRecordedMs: 900,
    frozenMasterNotReady: 1,
    processesReplaced: 0,
  });
  expect(incidentPhase('lua-stream', survived)).toMatchObject({
    ...{ phase: 'master frozen', accepted: 2, withoutSalesMs: 2_300, resumedAfterMs: 205 },
  });
});

test.each([
  ['no order is recorded', { recordedAt: null }, 'no order was recorded afterwards'],
  ['it is late', { recordedAt: at(8_001) }, 'recorded after 5001 ms, the limit is 5000 ms'],
  ['/readyz says nothing of it', { readiness: ready }, '/readyz stayed ready'],
  ['/readyz does not come back', { readiness: stillAway }, 'not ready at its end'],
  ['a process is replaced', { exitCodes: [75] }, 'exit codes of ended processes: 75'],
  ['a process is killed', { exitCodes: [null] }, 'exit codes of ended processes: a signal'],
])('it is violated when %s', (_, changes, reason) => {
  expect(reasonsOf(changes)).toEqual({
    verdict: 'violated',
    reasons: [`master frozen: ${reason}`],
  });
});

test('an instance that should stay ready may miss one answer, and not most of them', () => {
  const incident = { ...survived.incident, readyz: 'ready' as const };
  const [isAway, isReady] = [
    { at: at(1_500), isReady: false },
    { at: at(2_000), isReady: true },
  ];
  expect(reasonsOf({ incident, readiness: [isAway, isReady, isReady] }).verdict).toBe('held');
  expect(reasonsOf({ incident, readiness: [isAway, isAway, isReady] })).toEqual({
    verdict: 'violated',
    reasons: ['master frozen: /readyz was not ready'],
  });
});

test('a hung worker that nobody replaces is a violation', () => {
  const incident = { ...survived.incident, exitCodes: [75] };
  expect(reasonsOf({ incident }).reasons).toEqual([
    'master frozen: exit codes of ended processes: none',
  ]);
});

test('sales that resume late are a violation where the service must follow by itself', () => {
  const incident = { ...survived.incident, sellsWithinMs: 2_300 };
  expect(reasonsOf({ incident }).verdict).toBe('held');
  expect(reasonsOf({ incident: { ...incident, sellsWithinMs: 2_299 } })).toEqual({
    verdict: 'violated',
    reasons: ['master frozen: no sale for 2300 ms, the limit is 2299 ms'],
  });
});

test('without a sale before, nothing is known', () => {
  expect(reasonsOf({ tries: [sale(4_500)] }).verdict).toBe('unknown');
});

test('an accepted order that is queued for ever is a violation', () => {
  const audits = auditAll([facts({ attempts: [accepted('1', '7')], orders: [] })]);
  const { verdict, reasons } = incidentReasons({ seen: [survived], unfinished: [] }, audits);
  expect(verdict).toBe('violated');
  expect(reasons[0]).toMatch(/1 accepted orders are not recorded$/);
});

test('an incident that waits for something in vain ends the load, and nothing is known', async () => {
  const incidents = [survived, survived, survived].map(({ incident }, index) => ({
    ...{ ...incident, name: `incident ${index}` },
    play: async () => ({ mendedAt: at(0) }),
  }));
  const all = await playInOrder(incidents, async (incident) => {
    if (incident.name === 'incident 1') throw new DeadlinePassed('the promotion', 20_000);
    return { ...survived, incident };
  });
  expect(all.seen.map(({ incident }) => incident.name)).toEqual(['incident 0']);
  expect(incidentReasons(all, [])).toEqual({
    verdict: 'unknown',
    reasons: ['incident 1: Waited 20000 ms for the promotion, and it did not happen.'],
  });
});

test('an error that is no deadline ends the drill', async () => {
  const incident = { ...survived.incident, play: async () => ({ mendedAt: at(0) }) };
  const broken = playInOrder([incident], () => Promise.reject(new RangeError('broken')));
  await expect(broken).rejects.toThrow('broken');
});
