/**
 * The end of stock of a hot voucher in buckets, while instances are killed. In each sale one
 * transfer between two buckets is cut at a named place: a bucket is sold out, its next buyer is
 * paused while it borrows, and every instance is killed. Then the other users come, and instances
 * go on dying.
 */
import { Agent } from 'undici';
import type { Connections } from '../../connections/connections.ts';
import { signToken } from '../../http/tokens.ts';
import { type StockOfBuckets, stockOfBuckets } from '../../inventory/shared/bucket-stock.ts';
import type { Lab } from '../environment/lab.ts';
import { withConnections } from '../environment/lab-connections.ts';
import { instanceNames, type ServiceShape } from '../environment/servers/service.ts';
import { waitUntil } from '../environment/wait-until.ts';
import { killServer } from '../faults/kill-server.ts';
import { buyOnce } from '../workload/buy-once.ts';
import { byBucket } from '../workload/by-bucket.ts';
import { putOnSale } from '../workload/create-voucher.ts';
import { drained } from '../workload/drained.ts';
import { onePurchaseEach, type Purchase, type Try } from '../workload/steady-purchases.ts';
import type { Drill, DrillOptions } from './drill.ts';
import { type HotSale, judgeHotVoucher } from './hot-voucher-figures.ts';
import { buyRecorded, inject } from './recorded.ts';
import { playStorm, type StormFault } from './storm-faults.ts';

const rung = 'lua-buckets';
/** Declared by the voucher: whatever the service is configured for. */
const buckets = 4;
const stock = 240;
/** Little more than the stock, so that every unit left behind would turn a user away. */
const users = 248;
const purchasesPerSecond = 150;
const withinMs = 30_000;

/** Where the transfer is cut: after units were taken out, and after they were put in. */
const cuts = ['lent', 'put'] as const;
type Cut = (typeof cuts)[number];

export const hotShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  settings: { ORDER_WORKERS: '2' }, // With a history: a request can be paused only then.
};

export const hotVoucher: Drill = {
  about: 'instances die while the buckets of a hot voucher lend each other their last units',
  async run(lab, options) {
    await lab.ensure(hotShape);
    const endMs = performance.now() + options.minutes * 60_000;
    return withConnections(lab, async (connections) => {
      const sales: HotSale[] = [];
      while (sales.length < cuts.length || performance.now() < endMs) {
        options.signal.throwIfAborted();
        const cut = cuts[sales.length % cuts.length] as Cut;
        sales.push(await playSale({ lab, connections, options }, cut, options.seed + sales.length));
      }
      return judgeHotVoucher(sales);
    });
  },
};

interface Stage {
  readonly lab: Lab;
  readonly connections: Connections;
  readonly options: DrillOptions;
}

async function playSale(stage: Stage, cut: Cut, seed: number): Promise<HotSale> {
  const { lab, connections } = stage;
  const tokenSecret = connections.config.TOKEN_SECRET;
  const sale = { title: `hot-voucher, seed ${seed}`, stock, rung, buckets };
  const voucherId = await putOnSale(lab.baseUrl, tokenSecret, lab.shape.instances, sale);
  const purchases = planSale(voucherId, seed);
  const perBucket = byBucket(connections.saleKeys, purchases, buckets);
  const share = stock / perBucket.length;
  const [first = []] = perBucket.toSorted((one, other) => other.length - one.length);
  const tries: Try[] = await buy(stage, first.slice(0, share));
  const [borrower] = first.slice(share);
  const isCut = borrower ? await cutTransfer(stage, borrower, cut, tries) : false;
  const rest = purchases.filter((each) => !first.slice(0, share).includes(each));
  const { kills, tries: others } = await buyUnderKills(stage, rest, seed);
  tries.push(...others);
  const facts = { ...(await drained(connections, voucherId)), attempts: tries };
  const end = await stockOf(stage, voucherId);
  const demands = perBucket.map((each) => each.length);
  return {
    purchases,
    tries,
    facts,
    end,
    demands,
    isCut,
    kills: kills + instanceNames(lab.shape).length,
  };
}

/** Other users in each sale, so that the buckets are wanted unequally in another way. */
const planSale = (voucherId: string, seed: number): Purchase[] =>
  onePurchaseEach(voucherId, 'hot', users, seed * 1_000 + 1);

function buy({ lab, connections, options }: Stage, purchases: readonly Purchase[]): Promise<Try[]> {
  const { baseUrl } = lab;
  const giveUp = AbortSignal.any([options.signal, AbortSignal.timeout(withinMs)]);
  const load = {
    baseUrl,
    tokenSecret: connections.config.TOKEN_SECRET,
    purchasesPerSecond,
    giveUp,
  };
  return buyRecorded(rung, purchases, load, options.recorder);
}

const stockOf = ({ connections }: Stage, voucherId: string): Promise<StockOfBuckets> =>
  stockOfBuckets(connections.redis('admin'), connections.saleKeys, voucherId, buckets);

/** Its buyer repeats the request later. @returns whether the transfer is half-way now. */
async function cutTransfer(
  stage: Stage,
  borrower: Purchase,
  cut: Cut,
  tries: Try[],
): Promise<boolean> {
  const { lab, connections, options } = stage;
  const { voucherId, userId } = borrower;
  const agent = new Agent({ headersTimeout: withinMs });
  const token = await signToken(connections.config.TOKEN_SECRET, userId, 'user');
  const url = `${lab.baseUrl}/vouchers/${voucherId}/orders`;
  const pause = { 'x-lab-pauses': `${cut}:1:${withinMs}` };
  const asking = buyOnce(agent, url, borrower, token, pause);
  const isThere = async () => {
    const { open, inTransit } = await stockOf(stage, voucherId);
    return open.length === 1 && (cut === 'put' || inTransit > 0);
  };
  try {
    await waitUntil('a transfer', withinMs, isThere);
    if (cut === 'put')
      await waitUntil(
        'its put',
        withinMs,
        async () => (await stockOf(stage, voucherId)).inTransit === 0,
      );
    await killAll(stage);
    const half = await isThere();
    tries.push({ ...(await asking), voucherId });
    return half;
  } finally {
    await agent.destroy();
    options.signal.throwIfAborted();
  }
}

async function killAll({ lab, options }: Stage): Promise<void> {
  const names = instanceNames(lab.shape);
  const kill = (name: string) => inject(lab, killServer(name), options.recorder);
  const undos = await Promise.all(names.map(kill));
  for (const undo of undos) await undo();
  await lab.heal(); // Every instance answers again.
}

async function buyUnderKills(stage: Stage, rest: readonly Purchase[], seed: number) {
  const { lab, options } = stage;
  const over = new AbortController();
  const until = AbortSignal.any([options.signal, over.signal]);
  const storm = playStorm(lab, kills(instanceNames(lab.shape), seed), until, options.recorder);
  try {
    const tries = await buy(stage, rest);
    over.abort();
    return { tries, kills: (await storm).length };
  } finally {
    over.abort();
    await Promise.allSettled([storm]);
    await lab.heal();
  }
}

/** Of two, while the others sell: a process that dies again and again is started ever later. */
function* kills(instances: readonly string[], seed: number): Generator<StormFault> {
  for (let turn = seed; turn < seed + 2; turn++) {
    const fault = killServer(instances[turn % instances.length] ?? '');
    yield { fault, kind: 'kill instance', afterMs: 500, forMs: 0 };
  }
}
