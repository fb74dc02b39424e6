/**
 * The load beside a race in a drill: other users buy the same voucher through nginx at a steady
 * rate, each with one request, before the race, while it is played, and after it.
 */
import { firstLoadUser } from '../play/race-verdict.ts';
import type { Stage } from '../stage/stage.ts';
import { onePurchaseEach, type Try } from '../workload/steady-purchases.ts';
import { type Phase, phaseOf } from './phases.ts';
import {
  answeredAt,
  firstAfterMs,
  hasSaleSince,
  isSale,
  longestGapBetweenMs,
  now,
  sentAt,
  sentBetween,
} from './try-times.ts';

/** The times are nanoseconds of the clock of the tries. */
export interface RaceLoad {
  readonly calmFrom: bigint;
  /** From the first step of the race until every fault is mended. */
  readonly playFrom: bigint;
  readonly playTo: bigint;
  readonly until: bigint;
  readonly tries: readonly Try[];
}

const perSecond = 30;
const secondsMax = 60;
/**
 * A paused owner keeps the row lock of the voucher in MySQL, and every purchase waits for it. Few
 * clients leave connections to MySQL for the race.
 */
const clients = 8;
export const loadUsers = perSecond * secondsMax;
const waitForSaleMs = 10_000;

/** @param calmMs how long the load goes on before and after the race. */
export async function loadAround(
  stage: Stage,
  rung: string,
  voucherId: string,
  calmMs: number,
  play: () => Promise<void>,
): Promise<RaceLoad> {
  const purchases = onePurchaseEach(voucherId, 'load', loadUsers, firstLoadUser);
  const load = { name: rung, purchases, perSecond, clients, repeats: false } as const;
  return stage.during(load, async (tries) => {
    const calmFrom = await untilSold(stage, tries, now());
    await stage.rest(calmMs);
    const playFrom = now();
    await play();
    const playTo = now();
    await untilSold(stage, tries, playTo);
    await stage.rest(calmMs);
    return { calmFrom, playFrom, playTo, until: now(), tries };
  });
}

/** Without a sale, the verdict says so. @returns when the wait was over. */
async function untilSold(stage: Stage, tries: readonly Try[], since: bigint): Promise<bigint> {
  const sold = stage.until('a sale', waitForSaleMs, () => hasSaleSince(tries, since));
  await sold.catch(() => stage.signal.throwIfAborted());
  return now();
}

export const salesAfter = ({ tries, playTo, until }: RaceLoad): Try[] =>
  sentBetween(tries, playTo, until).filter(isSale);

/** Before, during and after the race, as clients of the load saw them: by when they sent. */
export function loadPhases(rung: string, during: string, load: RaceLoad): Phase[] {
  const { tries, calmFrom, playFrom, playTo, until } = load;
  const seen = (phase: string, from: bigint, to: bigint) =>
    phaseOf(rung, phase, sentBetween(tries, from, to));
  const sales = sentBetween(tries, calmFrom, until).filter(isSale);
  return [
    seen('before', calmFrom, playFrom),
    {
      ...seen(during, playFrom, playTo),
      withoutSalesMs: longestGapBetweenMs(sales.map(sentAt), calmFrom, until),
      resumedAfterMs: firstAfterMs(salesAfter(load).map(answeredAt), playTo),
    },
    seen('after', playTo, until),
  ];
}
