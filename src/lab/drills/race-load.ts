/**
 * The load beside a race in a drill: other users buy the same voucher through nginx at a steady
 * rate, each with one request, before the race, while it is played, and after it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../environment/lab.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { firstLoadUser } from '../races/race-verdict.ts';
import { onePurchaseEach, type Purchase, type Try } from '../workload/steady-purchases.ts';
import type { Phase } from './drill.ts';
import { phaseOf } from './outages.ts';
import { buyRecorded } from './recorded.ts';
import type { Recorder } from './timeline.ts';
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

interface LoadOptions {
  /** For people: the rung. */
  readonly name: string;
  readonly voucherId: string;
  readonly tokenSecret: string;
  /** How long the load goes on before and after the race. */
  readonly calmMs: number;
  readonly signal: AbortSignal;
  readonly recorder: Recorder;
}

const purchasesPerSecond = 30;
const mostSeconds = 60;
/**
 * A paused owner keeps the row lock of the voucher in MySQL, and every purchase waits for it. Few
 * clients leave connections to MySQL for the race.
 */
const clients = 8;
export const loadUsers = purchasesPerSecond * mostSeconds;
const waitForSaleMs = 10_000;

const planned = (voucherId: string): Purchase[] =>
  onePurchaseEach(voucherId, 'load', loadUsers, firstLoadUser);

export async function loadAround(
  lab: Lab,
  play: () => Promise<void>,
  { name, voucherId, tokenSecret, calmMs, signal, recorder }: LoadOptions,
): Promise<RaceLoad> {
  const tries: Try[] = [];
  const giveUp = new AbortController();
  const { baseUrl } = lab;
  const load = {
    ...{ baseUrl, tokenSecret, purchasesPerSecond, clients, giveUp: giveUp.signal },
    repeats: false as const,
    onTry: (attempt: Try) => void tries.push(attempt),
  };
  const buying = buyRecorded(name, planned(voucherId), load, recorder);
  try {
    const calmFrom = await untilSold(tries, now());
    await sleep(calmMs, undefined, { signal });
    const playFrom = now();
    await play();
    const playTo = now();
    await untilSold(tries, playTo);
    await sleep(calmMs, undefined, { signal });
    return { calmFrom, playFrom, playTo, until: now(), tries };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying]);
  }
}

/** Without a sale, the verdict says so. @returns when the wait was over. */
async function untilSold(tries: readonly Try[], since: bigint): Promise<bigint> {
  const hasSold = () => hasSaleSince(tries, since);
  await waitUntil('a sale', waitForSaleMs, hasSold).catch(() => {});
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
