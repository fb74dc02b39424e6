/**
 * How an outage must look: each expectation says what is wrong with what was seen of it. A drill
 * names its expectations in the row of an outage. Pure.
 */
import { confirmed, type Facts } from '../../service/audit/facts.ts';
import type { Judged } from '../stage/result.ts';
import type { Try } from '../workload/steady-purchases.ts';
import { auditAll, drillVerdict, factsNotHeld, findingsOf, notHeldTexts } from './audited.ts';
import { type Phase, phaseOf } from './phases.ts';
import {
  answeredAt,
  firstAfterMs,
  isSale,
  longestGapBetweenMs,
  msBetween,
  sentBetween,
} from './try-times.ts';

/** An answer of /readyz of an instance; no answer counts as not ready. */
export interface Look {
  readonly at: bigint;
  readonly isReady: boolean;
  readonly body: string;
}

/** What was seen of one outage. The moments are nanoseconds of the clock of the tries. */
export interface Timeline {
  readonly calmFrom: bigint;
  readonly brokenAt: bigint;
  /** From here on the service can sell and record again. */
  readonly mendedAt: bigint;
  /** The most orders that were queued at one moment until then. */
  readonly waitingMost: number;
  /** When MySQL had every order of the outage; null when it did not get them in time. */
  readonly recordedAt: bigint | null;
  /** When MySQL had one that was sent after it; null when it got none in time. */
  readonly nextRecordedAt: bigint | null;
  readonly until: bigint;
  readonly tries: readonly Try[];
  /** Since `brokenAt`. */
  readonly looks: readonly Look[];
  /** Of the processes of the service that ended meanwhile; null for a signal. */
  readonly exitCodes: readonly (number | null)[];
}

/** @returns what is wrong; null when it is as expected. */
export type Expectation = (seen: Timeline) => string | null;

/** What a row says of an outage. */
export interface Expected {
  /** For people. */
  readonly name: string;
  readonly expects: readonly Expectation[];
  /** Without these the outage has shown nothing, and the verdict is `unknown`. */
  readonly needs?: readonly Expectation[];
}
export type Seen<Row extends Expected = Expected> = Timeline & { readonly row: Row };

/** All outages of one load, in their order. */
export interface Played<Row extends Expected = Expected> {
  readonly seen: readonly Seen<Row>[];
  /** One sentence, when an outage did not come to its end; those after it were not played. */
  readonly unfinished: readonly string[];
  readonly facts: Facts;
}

export const meanwhile = ({ tries, brokenAt, mendedAt }: Timeline): Try[] =>
  sentBetween(tries, brokenAt, mendedAt);
export const countSales = (tries: readonly Try[]): number => tries.filter(isSale).length;

export const notReady = ({ looks }: Timeline): number =>
  looks.filter(({ isReady }) => !isReady).length;

export const looksThatSay = ({ looks }: Timeline, sign: string): number =>
  looks.filter(({ body }) => body.includes(sign)).length;

/** The moments of the answers to the accepted purchases. */
const salesOf = ({ tries, calmFrom, until }: Timeline): bigint[] =>
  tries
    .filter(isSale)
    .map(answeredAt)
    .filter((at) => at >= calmFrom && at < until);

const withoutSalesMs = (seen: Timeline): number =>
  longestGapBetweenMs(salesOf(seen), seen.calmFrom, seen.until);

function late(what: string, since: bigint, at: bigint | null, limitMs: number): string | null {
  const ms = at === null ? null : msBetween(since, at);
  if (ms === null) return `never ${what}`;
  return unless(ms <= limitMs, `${what} after ${ms} ms, the limit is ${limitMs} ms`);
}

const unless = (isRight: boolean, wrong: string): string | null => (isRight ? null : wrong);

const codesText = (codes: readonly (number | null)[]): string =>
  codes.map((code) => code ?? 'a signal').join(', ') || 'none';

/** Of one outage. */
export const expected = {
  boughtBefore: ({ tries, calmFrom, brokenAt }: Timeline) =>
    unless(countSales(sentBetween(tries, calmFrom, brokenAt)) > 0, 'nobody bought before'),
  sellsOn: (seen: Timeline) => {
    const [asked, sold] = [meanwhile(seen).length, countSales(meanwhile(seen))];
    return unless(sold * 2 >= asked, `sold ${sold} in ${asked} attempts meanwhile`);
  },
  sellsAfterwards: ({ tries, mendedAt, until }: Timeline) =>
    unless(countSales(sentBetween(tries, mendedAt, until)) > 0, 'nothing was sold afterwards'),
  /** From the calm before it to the calm after it. */
  withoutSalesFor: (limitMs: number) => (seen: Timeline) => {
    const ms = withoutSalesMs(seen);
    return unless(ms <= limitMs, `no sale for ${ms} ms, the limit is ${limitMs} ms`);
  },
  refusesAs: (reason: string, otherwise: string) => (seen: Timeline) =>
    unless(
      meanwhile(seen).some((each) => each.reason === reason),
      otherwise,
    ),
  ordersWait: (seen: Timeline) => {
    const { waitingMost: most } = seen;
    const sold = countSales(meanwhile(seen));
    return unless(most * 2 >= sold, `${sold} were sold, and at most ${most} orders waited`);
  },
  recordedWithin: (limitMs: number) => (seen: Timeline) =>
    late('recorded', seen.mendedAt, seen.recordedAt, limitMs),
  /** The first order that was sent after the outage. */
  recordsAgainWithin: (limitMs: number) => (seen: Timeline) =>
    late('recorded again', seen.mendedAt, seen.nextRecordedAt, limitMs),
  readyzSays: (sign: string) => (seen: Timeline) =>
    unless(looksThatSay(seen, sign) > 0, `/readyz never said so: ${sign}`),
  turnsUnready: (seen: Timeline) => unless(notReady(seen) > 0, '/readyz stayed ready'),
  /** A slow machine may miss the time limit of an answer now and then. */
  staysReady: (seen: Timeline) =>
    unless(notReady(seen) * 2 <= seen.looks.length, '/readyz was not ready'),
  readyAtItsEnd: ({ looks }: Timeline) =>
    unless(looks.at(-1)?.isReady !== false, 'not ready at its end'),
  /** Of processes that must end, and no other may. */
  exitCodes:
    (...codes: readonly number[]) =>
    ({ exitCodes }: Timeline) => {
      const text = codesText(exitCodes);
      return unless(text === codesText(codes), `exit codes of ended processes: ${text}`);
    },
} as const;

/** The sales from the fault until `to`, and how long there were none. */
export const outagePhase = (rung: string, seen: Seen, to: bigint): Phase => ({
  ...phaseOf(rung, seen.row.name, sentBetween(seen.tries, seen.brokenAt, to)),
  withoutSalesMs: withoutSalesMs(seen),
  resumedAfterMs: firstAfterMs(salesOf(seen), seen.mendedAt),
});

const wrongIn = (seen: Seen, wanted: readonly Expectation[]): string[] =>
  wanted
    .flatMap((expectation) => expectation(seen) ?? [])
    .map((text) => `${seen.row.name}: ${text}`);

/** Each load with its facts, which must hold, too. */
export function judgeOutages(
  loads: readonly Played[],
): Pick<Judged, 'verdict' | 'reasons' | 'facts'> {
  const seen = loads.flatMap((load) => load.seen);
  const audits = auditAll(loads.map(({ facts }) => facts));
  const judged = drillVerdict(
    audits.map(({ audit }) => audit.verdict),
    {
      broken: [
        ...seen.flatMap((each) => wrongIn(each, [...each.row.expects, expected.readyAtItsEnd])),
        ...loads.flatMap(({ facts }) => wrongOrders(facts)),
      ],
      audited: notHeldTexts(audits.flatMap(findingsOf)),
      missing: [
        ...seen.flatMap((each) =>
          wrongIn(each, [expected.boughtBefore, ...(each.row.needs ?? [])]),
        ),
        ...loads.flatMap(({ unfinished }) => unfinished),
      ],
    },
  );
  return { ...judged, facts: factsNotHeld(audits) };
}

export const deadLettered = ({ mysql }: Facts): number =>
  mysql.orders.filter(({ status }) => status === 'failed').length;

/** Every store answers by then, so an order that is still queued is passed over by the workers. */
function wrongOrders(facts: Facts): string[] {
  const recorded = new Set(confirmed(facts).map(({ id }) => id));
  const missing = (facts.attempts ?? []).filter(
    (attempt) => isSale(attempt) && !recorded.has(attempt.orderId ?? ''),
  );
  const counts = [
    [missing.length, 'accepted orders are not recorded'],
    [deadLettered(facts), 'orders were dead-lettered'],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, text]) => `voucher ${facts.voucherId}: ${count} ${text}`);
}
