/** Every order of the steps of two buyers, played: `race --all-orders mutex-per-user`. */

import type { CheckName, Verdict } from '../../service/domain.ts';
import { LockstepError } from '../../service/errors.ts';
import type { RungName } from '../../service/ladder/rungs.ts';
import type { Bilingual } from '../../texts/texts.ts';
import { type Judged, ofName, type Table } from '../stage/result.ts';
import type { Experiment, Stage } from '../stage/stage.ts';
import { choicesOf, everyOrder } from './explore.ts';
import { claimedChecks, judgedPlay, serveLanes } from './judged-play.ts';
import { type RowWaits, rowWaitsNow } from './row-waits.ts';

export interface OrdersOfRung {
  readonly rung: RungName;
  readonly orders: number;
  /** The choices of each order that broke a promise. */
  readonly broken: readonly string[];
  readonly verdict: Verdict;
  readonly asClaimed: boolean;
}

export function allOrdersExperiment(): Experiment<{ readonly rungs: readonly RungName[] }> {
  const seen: OrdersOfRung[] = [];
  return {
    about: {
      en: 'two buyers in two processes: every interleaving of their steps, each played and audited',
      zh: '两个买家在两个进程里：步骤的每一种先后顺序，都运行一遍并审计',
    },
    play: async (stage, { rungs }) => {
      for (const rung of rungs) {
        const orders = await ordersOf(stage, rung);
        seen.push(orders);
        stage.note(countText(orders));
      }
      return judgedOrders(seen);
    },
    soFar: () => ({ tables: tablesOf(seen) }),
  };
}

/** `unknown` when an order could not be played in three tries. */
export async function ordersOf(stage: Stage, rung: RungName): Promise<OrdersOfRung> {
  await serveLanes(stage, 2);
  try {
    return await countOrders(stage, rung, rowWaitsNow(stage.lab));
  } catch (error) {
    if (!(error instanceof LockstepError) || stage.signal.aborted) throw error;
    stage.note(ofName(rung, error.message));
    return { rung, orders: 0, broken: [], verdict: 'unknown', asClaimed: false };
  }
}

/** On the instances that are there. */
export async function countOrders(
  stage: Stage,
  rung: RungName,
  rowWaits: RowWaits,
): Promise<OrdersOfRung> {
  const broken: string[] = [];
  const checks: CheckName[] = [];
  let orders = 0;
  const play = (choices: string) => judgedPlay(stage, { rung, choices, toTheEnd: true }, rowWaits);
  for await (const played of everyOrder(play)) {
    orders += 1;
    if (played.violated.length > 0) broken.push(choicesOf(played));
    checks.push(...played.violated.map(({ check }) => check));
  }
  return judgedCount({ rung, orders, broken }, checks);
}

/**
 * Some interleavings break a rung that breaks by them alone, and none breaks another one.
 * @param checks those that broke
 */
export function judgedCount(
  count: Pick<OrdersOfRung, 'rung' | 'orders' | 'broken'>,
  checks: readonly CheckName[],
): OrdersOfRung {
  const claimed = claimedChecks(count.rung);
  const isBroken = count.broken.length > 0;
  const isSurprise = checks.some((check) => !claimed.includes(check));
  const asClaimed = isBroken === claimed.length > 0 && !isSurprise;
  return { ...count, verdict: isBroken ? 'violated' : 'held', asClaimed };
}

const countText = ({ rung, orders, broken, verdict }: OrdersOfRung): Bilingual =>
  verdict === 'unknown'
    ? ofName(rung, { en: 'its interleavings could not be played', zh: '没能走完各种顺序' })
    : ofName(rung, {
        en: `${broken.length} of ${orders} interleavings break it`,
        zh: `${orders} 种顺序里有 ${broken.length} 种违反承诺`,
      });

export function judgedOrders(seen: readonly OrdersOfRung[]): Judged {
  const doubtful = seen.filter(({ verdict }) => verdict === 'unknown');
  const wrong = seen.filter(({ verdict, asClaimed }) => verdict !== 'unknown' && !asClaimed);
  return {
    verdict: wrong.length > 0 ? 'violated' : doubtful.length > 0 ? 'unknown' : 'held',
    reasons: [
      ...wrong.map(countText).map(({ en, zh }) => ({
        en: `${en}, which is not what the ladder claims`,
        zh: `${zh}，与预期不一致`,
      })),
      ...doubtful.map(countText),
    ],
    figures: { rungs: seen.length, orders: seen.reduce((sum, { orders }) => sum + orders, 0) },
    tables: tablesOf(seen),
    hints: hintsOf(seen),
    facts: [],
  };
}

function hintsOf(seen: readonly OrdersOfRung[]): Bilingual[] {
  const [first] = seen.filter(({ broken }) => broken.length > 0);
  if (!first) return [];
  const command = `npx lockstep race --choices ${first.broken[0]} --rung ${first.rung}`;
  return [ofName({ en: 'play one', zh: '走其中一种' }, command)];
}

const tablesOf = (seen: readonly OrdersOfRung[]): Table[] => [
  {
    title: {
      en: 'Interleavings of the steps of two buyers, and how many break a promise',
      zh: '两个买家的步骤有多少种先后顺序，其中多少种违反承诺',
    },
    head: [
      { en: 'rung', zh: '方案' },
      { en: 'one that breaks it', zh: '其中一种' },
      { en: 'interleavings', zh: '顺序' },
      { en: 'break it', zh: '违反' },
    ],
    rows: seen.map(({ rung, orders, broken }) => [
      rung,
      broken[0] ?? '–',
      String(orders),
      String(broken.length),
    ]),
  },
  {
    title: { en: 'Every interleaving that breaks a promise', zh: '违反承诺的每一种先后顺序' },
    isWide: true,
    head: [
      { en: 'rung', zh: '方案' },
      { en: 'choices', zh: '选择' },
    ],
    rows: seen
      .filter(({ broken }) => broken.length > 0)
      .map(({ rung, broken }) => [rung, broken.join(' ')]),
  },
];
