/**
 * An operator pauses, resumes and changes a sale while instances and order workers die: one of
 * `lua-stream`, the next one of `lua-buckets`. The instance that changes the stock is killed in the
 * middle of it: before Redis has the change, or after, or while one bucket has it.
 */
import { changesOf } from '../../service/orders/change-journal.ts';
import type { VoucherEdit } from '../../service/orders/voucher-changes.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import type { ServiceShape } from '../environment/servers/service.ts';
import { killServer } from '../faults/process.ts';
import type { Stage } from '../stage/stage.ts';
import { changeOnce, isChangeFinal } from '../workload/change-sale.ts';
import { onePurchaseEach } from '../workload/steady-purchases.ts';
import { type ChangedSale, judgeChangedSale, type Pause } from './changed-sale-figures.ts';
import { type Drill, repeatedSales } from './drill.ts';
import { playStorm, type StormFault } from './storm-faults.ts';
import { now } from './try-times.ts';

/** Two sales have both rungs, and six sales every place. */
const sales: readonly { readonly rung: string; readonly cut: CheckpointName }[] = [
  { rung: 'lua-stream', cut: 'change-begun' },
  { rung: 'lua-buckets', cut: 'bucket-adjusted' },
  { rung: 'lua-stream', cut: 'change-applied' },
  { rung: 'lua-buckets', cut: 'change-begun' },
  { rung: 'lua-stream', cut: 'change-begun' },
  { rung: 'lua-buckets', cut: 'change-applied' },
];
const salesMin = 2;
const stock = 300;
/** More users than the last one, so that the voucher sells out. */
const stocks = { more: 400, fewer: 390, last: 360 } as const;
const users = 420;
/** So slowly that no change comes too late, although the worker that finishes it starts again. */
const perSecond = 30;
const withinMs = 30_000;

export const changedShape: ServiceShape = {
  ...{ instances: 4, balancer: 'nginx' },
  settings: { ORDER_WORKERS: '2' },
};

export const changedSale: Drill = {
  about: {
    en: 'an operator pauses and changes a sale while instances and workers die',
    zh: '实例和订单消费者不断宕机时，运营人员暂停并修改秒杀',
  },
  takesMinutes: 1,
  async play(stage, options) {
    await stage.serve(changedShape);
    const playNext = (number: number, seed: number) =>
      playSale(stage, sales[number % sales.length] as (typeof sales)[number], seed);
    return judgeChangedSale(await repeatedSales(options, salesMin, playNext));
  },
};

async function playSale(
  stage: Stage,
  { rung, cut }: (typeof sales)[number],
  seed: number,
): Promise<ChangedSale> {
  const voucherId = await stage.putOnSale({ title: `changed-sale, seed ${seed}`, stock, rung });
  const purchases = onePurchaseEach(voucherId, 'changed', users, seed * 1_000 + 1);
  const load = { name: rung, perSecond, purchases, finishWithinMs: 2 * withinMs };
  let cutChanges = 0;
  const cutStock = async (wanted: number) => {
    if (await cutChange(stage, voucherId, { stock: wanted }, cut)) cutChanges += 1;
  };
  const { pauses, kills } = await stage.during(load, () =>
    underKills(stage, seed, async () => {
      const first = await pauseFor(stage, voucherId, () => stage.rest(500));
      await cutStock(stocks.more);
      await untilAnswered(stage, voucherId, { stock: stocks.fewer });
      const second = await pauseFor(stage, voucherId, () => cutStock(stocks.last));
      return { pauses: [first, second] };
    }),
  );
  const refused = await untilAnswered(stage, voucherId, { stock: 1 });
  const facts = await stage.facts(voucherId);
  return {
    ...{ purchases, facts, pauses, kills, wantedStock: stocks.last },
    cuts: cutChanges,
    isRefusedBelowSold: refused === 409,
    tries: stage.triesOf(voucherId),
    changes: await changesOf(stage.connections.mysql(), voucherId),
  };
}

/** @returns what the work returned, and how many kills there were beside its own. */
async function underKills<T>(stage: Stage, seed: number, work: () => Promise<T>) {
  const over = new AbortController();
  const storm = playStorm(stage, kills(seed), over.signal);
  storm.catch(() => {}); // It is awaited below.
  const done = await work().finally(() => over.abort());
  const played = await storm;
  await stage.lab.heal();
  return { ...done, kills: played.length };
}

const cutTriesMax = 5;
/** Dies by itself only in the middle of a change. */
const changer = 'api-3';

/** Two instances and both workers in turn. The two other instances go on selling. */
function* kills(seed: number): Generator<StormFault> {
  const servers = ['api-1', 'api-worker-1', 'api-2', 'api-worker-2'];
  for (let turn = seed; ; turn++) {
    const fault = killServer(servers[turn % servers.length] ?? '');
    yield { fault, kind: fault.name, afterMs: 400, forMs: 0 };
  }
}

/** @returns when nothing was sold: from the answer to the pause, until the sale was to resume. */
async function pauseFor(
  stage: Stage,
  voucherId: string,
  work: () => Promise<void>,
): Promise<Pause> {
  await untilAnswered(stage, voucherId, { paused: true });
  const from = now();
  await work();
  const to = now();
  await untilAnswered(stage, voucherId, { paused: false });
  return { from, to };
}

/** The operator asks again while there is no final answer. @returns its status */
async function untilAnswered(stage: Stage, voucherId: string, edit: VoucherEdit): Promise<number> {
  let status = 0;
  await stage.until('the operator to be answered', withinMs, async () => {
    status = await changeOnce(stage.lab, voucherId, edit);
    return isChangeFinal(status);
  });
  return status;
}

/**
 * The instance is killed at this place; an order worker finishes the change.
 * @returns whether the change stood there when its instance died
 */
async function cutChange(
  stage: Stage,
  voucherId: string,
  edit: VoucherEdit,
  place: CheckpointName,
): Promise<boolean> {
  const { lab } = stage;
  const of = { tokenSecret: lab.tokenSecret, baseUrl: `http://127.0.0.1:${lab.portOf(changer)}` };
  const answers = () =>
    fetch(`${of.baseUrl}/readyz`)
      .then((answer) => answer.ok)
      .catch(() => false);
  await stage.until(`${changer} to answer again`, withinMs, answers);
  let isThere = false;
  // A worker may be faster than the instance, and finish the change: then it is asked for again.
  for (let times = 1; times <= cutTriesMax && !isThere; times++) {
    const player = stage.player();
    const unknown = { userId: '1', requestId: player.requestId('A'), latencyMs: 0 };
    player.add('A', async () => {
      await changeOnce(of, voucherId, edit, player.headers('A'));
      return { ...unknown, outcome: 'unknown' };
    });
    isThere = (await player.to('A', [place], { withinMs })).kind === 'paused';
  }
  if (isThere) await (await stage.inject(killServer(changer)))();
  await stage.until('the change to be finished', withinMs, () => isSettled(stage, voucherId));
  return isThere;
}

async function isSettled({ connections }: Stage, voucherId: string): Promise<boolean> {
  const changes = await changesOf(connections.mysql(), voucherId);
  return changes.every(({ state }) => state !== 'begun');
}
