/** Every order of the steps of two buyers, played: `race --all-orders mutex-per-user`. */
import type { Verdict } from '../../domain.ts';
import type { RungName } from '../../ladder/rungs.ts';
import type { Experiment } from '../stage/experiment.ts';
import type { Judged, Table } from '../stage/result.ts';
import type { Stage } from '../stage/stage.ts';
import { choicesOf, everyOrder } from './explore.ts';
import { isClaimedToBreak, judgedPlay, serveLanes } from './judged-play.ts';
import { withRowWaits } from './row-waits.ts';

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
    about: 'two buyers in two processes: every order of their steps, each played and audited',
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

/** @throws OrderNotReplayed, DeadlinePassed */
export async function ordersOf(stage: Stage, rung: RungName): Promise<OrdersOfRung> {
  const broken: string[] = [];
  let orders = 0;
  await serveLanes(stage, 2);
  await withRowWaits(stage.lab, async (rowWaits) => {
    const play = (choices: string) =>
      judgedPlay(stage, { rung, choices, toTheEnd: true }, rowWaits);
    for await (const played of everyOrder(play)) {
      orders += 1;
      if (played.violated.length > 0) broken.push(choicesOf(played));
    }
  });
  return judgedCount({ rung, orders, broken });
}

/** Some orders break a rung that breaks by the order alone, and none breaks another one. */
export function judgedCount(count: Pick<OrdersOfRung, 'rung' | 'orders' | 'broken'>): OrdersOfRung {
  const isBroken = count.broken.length > 0;
  const asClaimed = isBroken === isClaimedToBreak(count.rung);
  return { ...count, verdict: isBroken ? 'violated' : 'held', asClaimed };
}

export const countText = ({ rung, orders, broken }: OrdersOfRung): string =>
  `${rung}: ${broken.length} of ${orders} orders break it`;

export function judgedOrders(seen: readonly OrdersOfRung[]): Judged {
  const wrong = seen.filter(({ asClaimed }) => !asClaimed);
  return {
    verdict: wrong.length > 0 ? 'violated' : 'held',
    reasons: wrong.map((each) => `${countText(each)}, which is not what the ladder claims`),
    figures: { rungs: seen.length, orders: seen.reduce((sum, { orders }) => sum + orders, 0) },
    tables: tablesOf(seen),
    hints: hintsOf(seen),
    facts: [],
  };
}

function hintsOf(seen: readonly OrdersOfRung[]): string[] {
  const [first] = seen.filter(({ broken }) => broken.length > 0);
  if (!first) return [];
  return [`play one: npx lockstep race --choices ${first.broken[0]} --rung ${first.rung}`];
}

const tablesOf = (seen: readonly OrdersOfRung[]): Table[] => [
  {
    title: 'Orders of the steps of two buyers, and how many break a promise',
    head: ['rung', 'one that breaks it', 'orders', 'break it'],
    rows: seen.map(({ rung, orders, broken }) => [
      ...[rung, broken[0] ?? '–', String(orders), String(broken.length)],
    ]),
  },
  {
    title: 'Every order that breaks a promise',
    isWide: true,
    head: ['rung', 'choices'],
    rows: seen
      .filter(({ broken }) => broken.length > 0)
      .map(({ rung, broken }) => [rung, broken.join(' ')]),
  },
];
