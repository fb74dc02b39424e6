/**
 * The loads of a sale that is broken by hand: the same purchases at the same moments on each of its
 * rungs. Each rung has clients of its own, so that a slow one keeps no buyer of the other waiting.
 */

import type { RungName } from '../../service/ladder/rungs.ts';
import { duringK6, k6SecondsMax } from '../drills/k6-load.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { labError } from '../errors.ts';
import type { BuyerAnswer } from '../stage/events.ts';
import { ofName } from '../stage/result.ts';
import type { Load, Stage } from '../stage/stage.ts';
import type { Purchase } from '../workload/steady-purchases.ts';
import { type BreakChoice, minutesMax, rungsOf } from './break-choice.ts';

export interface BrokenSale {
  readonly rung: RungName;
  readonly voucherId: string;
}

export interface BreakLoad extends Pick<BreakChoice, 'arrivals' | 'perSecond'> {
  readonly lastsMs: number;
}

export interface AnsweredSale extends BrokenSale {
  /** They grow while it sells. */
  readonly answers: readonly BuyerAnswer[];
}

/** @param ending aborts when the load is to end: by hand, or because k6 has ended by itself */
type Work<T> = (sales: readonly AnsweredSale[], ending: AbortController) => Promise<T>;

/** Every store is behind its proxy: so each can be slowed, and cut off. */
const shape: ServiceShape = { instances: 4, balancer: 'nginx', network: 'proxied' };
/** In turns, two buyers at once would meet the same two of four instances every time. */
const shapeForTwo: ServiceShape = { ...shape, instances: 3 };
export const shapeFor = ({ beside }: BreakChoice): ServiceShape => (beside ? shapeForTwo : shape);

/** The audit reads all of them at once. */
const purchasesMax = 200_000;
/** As long as the audit, and k6, can bear. */
export const longestMs = (choice: BreakChoice): number =>
  1_000 *
  Math.min(
    minutesMax * 60,
    purchasesMax / (choice.perSecond * rungsOf(choice).length),
    ...(choice.arrivals === 'k6' ? [k6SecondsMax] : []),
  );

const rushEverySeconds = 10;
/** Each has a connection of its own. */
const atOnceMax = 1_000;
const finishWithinMs = 20_000;

export const atOnceOf = ({ arrivals, perSecond }: Omit<BreakLoad, 'lastsMs'>): number =>
  arrivals === 'rush' ? Math.min(atOnceMax, perSecond * rushEverySeconds) : 1;

/** More than all of them can buy. */
export const stockFor = ({ perSecond, lastsMs }: BreakLoad): number =>
  Math.ceil(((lastsMs + finishWithinMs) / 1_000) * perSecond) + atOnceMax;

export async function duringLoads<T>(
  stage: Stage,
  sales: readonly BrokenSale[],
  load: BreakLoad,
  work: Work<T>,
): Promise<T> {
  const ending = new AbortController();
  const [sale] = sales;
  const sellOn = (next: BrokenSale) => loadOn(next, load, ending.signal);
  try {
    if (load.arrivals === 'k6' && sale) return await sellByK6(stage, sale, load, ending, work);
    return await duringAll(stage, sales, sellOn, (answered) => work(answered, ending));
  } finally {
    ending.abort();
  }
}

function loadOn({ rung, voucherId }: BrokenSale, load: BreakLoad, ending: AbortSignal): Load {
  const atOnce = atOnceOf(load);
  const purchases = buyers(voucherId);
  return {
    name: rung,
    perSecond: load.perSecond,
    purchases,
    ending,
    finishWithinMs,
    ...(atOnce > 1 && { atOnce, clients: atOnce }),
  };
}

/** They begin at the same moment. */
async function duringAll<T>(
  stage: Stage,
  [first, ...others]: readonly BrokenSale[],
  sellOn: (sale: BrokenSale) => Load,
  work: (sales: readonly AnsweredSale[]) => Promise<T>,
): Promise<T> {
  if (!first) return work([]);
  return stage.during(sellOn(first), (answers) =>
    duringAll(stage, others, sellOn, (rest) => work([{ ...first, answers }, ...rest])),
  );
}

/** One user after the other; every tenth sends a second purchase right after. */
function* buyers(voucherId: string): Generator<Purchase> {
  for (let user = 1; ; user++)
    for (let time = 1; time <= (user % 10 === 0 ? 2 : 1); time++)
      yield { voucherId, userId: String(user), requestId: `hand-${voucherId}-${user}-${time}` };
}

/** k6 judges its own run only if nobody ended it earlier; what it says is a note. */
async function sellByK6<T>(
  stage: Stage,
  sale: BrokenSale,
  { perSecond, lastsMs }: BreakLoad,
  ending: AbortController,
  work: Work<T>,
): Promise<T> {
  const load = { ...sale, name: sale.rung, perSecond, lastsMs };
  const working = (answers: readonly BuyerAnswer[]) => work([{ ...sale, answers }], ending);
  const { run, done } = await duringK6(stage, load, working, ending);
  const { exitCode, summary, errors } = run;
  if (done === undefined) throw labError('K6_FAILED', exitCode, errors || summary);
  for (const line of summary.split('\n').filter((each) => /^ {2}[✓✗?] /.test(each)))
    stage.note(ofName('k6', line.trim()));
  return done;
}
