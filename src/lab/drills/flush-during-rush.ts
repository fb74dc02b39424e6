/**
 * FLUSHALL on redis-main in the middle of a rush on the final rung. The service refuses every
 * purchase until Redis is rebuilt from MySQL; then sales resume until the last unit. Nothing may be
 * sold twice; what only Redis knew is lost, and is counted.
 */
import type { Connections } from '../../connections/connections.ts';
import { rebuild } from '../../orders/reconcile/rebuild.ts';
import { reconcile } from '../../orders/reconcile/reconcile.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { loseKeys } from '../faults/lose-keys.ts';
import { stopWorkers } from '../faults/stop-workers.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { planPurchases, type Try } from '../workload/steady-purchases.ts';
import type { Drill, DrillOptions, DrillResult } from './drill.ts';
import { type FlushSeen, judgeFlush } from './flush-figures.ts';
import { buyRecorded, inject } from './recorded.ts';
import { hasSaleSince, now, salesSince } from './try-times.ts';

const rung = 'lua-stream';
/** More than the first load can sell, so that the second one sells the last unit. */
const stock = 2_000;
const users = { first: 1_800, second: 3_000 } as const;
/** The first load lasts 45 s: on a slow machine, the workers restart and Redis is rebuilt in it. */
const perSecond = { first: 40, second: 1_000 } as const;
/** Accepted orders: sent before the workers stop, and sent between that and the flush. */
const accepted = { recorded: 60, unrecorded: 60 } as const;
const withinMs = 60_000;

export const flushShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  settings: { ORDER_WORKERS: '2', HISTORY_FOLDER: '' },
};

export const flushDuringRush: Drill = {
  about: 'redis-main loses every key while lua-stream sells, and is rebuilt: what is lost, counted',
  async run(lab, options) {
    await lab.ensure(flushShape);
    const tokenSecret = lab.tokenSecret;
    const sale = { title: `flush-during-rush, seed ${options.seed}`, stock, rung };
    const voucherId = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
    const tries: Try[] = [];
    const play = { lab, options, voucherId, tries };
    return withConnections(lab, (connections) => playFlush(play, connections));
  },
};

interface Play {
  readonly lab: Lab;
  readonly options: DrillOptions;
  readonly voucherId: string;
  readonly tries: Try[];
}

async function playFlush(play: Play, connections: Connections): Promise<DrillResult> {
  const { voucherId, tries } = play;
  const times = await flushWhileBuying(play, connections);
  await buyUntilSoldOut(play);
  const facts = { ...(await drained(connections, voucherId)), attempts: tries };
  const { verdict } = await reconcile(connections, voucherId);
  const result = judgeFlush({ facts, ...times, isConsistent: verdict === 'consistent' });
  return { ...result, faults: { [stopWorkers.name]: 1, [loseKeys.name]: 1 } };
}

type Times = Pick<FlushSeen, 'flushAt' | 'flushedAt' | 'rebuildAt' | 'rebuiltAt'>;

/** The workers are stopped before the flush, so that some accepted orders are not recorded yet. */
async function flushWhileBuying(play: Play, connections: Connections): Promise<Times> {
  const { lab, options, tries } = play;
  const giveUp = new AbortController();
  const buying = buy(play, 'first', giveUp.signal);
  const until = untilIn(options);
  const sold = (count: number, since: bigint) =>
    until('the sales', () => salesSince(tries, since).length >= count);
  try {
    await sold(accepted.recorded, 0n);
    const startWorkers = await inject(lab, stopWorkers, options.recorder);
    await sold(accepted.unrecorded, now());
    const flushAt = now();
    const undo = await inject(lab, loseKeys, options.recorder);
    const flushedAt = now();
    await startWorkers();
    await until('a refusal', () => tries.some(({ reason }) => reason === 'not-ready'));
    const rebuildAt = now();
    await rebuild(connections, (step) => options.progress(`rebuild: ${step}`));
    const rebuiltAt = now();
    await undo();
    await until('a sale', () => hasSaleSince(tries, rebuiltAt));
    return { flushAt, flushedAt, rebuildAt, rebuiltAt };
  } finally {
    giveUp.abort();
    await Promise.allSettled([buying]);
  }
}

/** Also by users whose order is lost: they may buy again. */
async function buyUntilSoldOut(play: Play): Promise<void> {
  const late = AbortSignal.timeout(withinMs);
  await buy(play, 'second', AbortSignal.any([late, play.options.signal]));
}

function buy(
  { lab, options, voucherId, tries }: Play,
  time: 'first' | 'second',
  giveUp: AbortSignal,
): Promise<Try[]> {
  const load = {
    ...{ baseUrl: lab.baseUrl, tokenSecret: lab.tokenSecret },
    ...{ purchasesPerSecond: perSecond[time], giveUp },
    onTry: (attempt: Try) => void tries.push(attempt),
  };
  const seed = time === 'first' ? options.seed : options.seed + 1;
  return buyRecorded(rung, planPurchases(voucherId, users[time], seed), load, options.recorder);
}

const untilIn =
  ({ signal }: DrillOptions) =>
  (what: string, condition: () => boolean): Promise<void> =>
    waitUntil(what, withinMs, () => {
      signal.throwIfAborted();
      return condition();
    });
