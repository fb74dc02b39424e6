/** The table of trials: each is one fault at the moment that decides. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { select } from '../../service/connections/mysql.ts';
import { reopensAfterMs } from '../../service/domain.ts';
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { processRef } from '../environment/process-table.ts';
import { workerNames } from '../environment/servers/service.ts';
import { labError } from '../errors.ts';
import { holdStock, isInTransaction, refuseOrders, rereadMs } from '../faults/database.ts';
import type { Fault, Undo } from '../faults/fault.ts';
import {
  killProcess,
  killServer,
  pauseServer,
  restartServer,
  stopWorkers,
} from '../faults/process.ts';
import { loseGroup, rollBackTo } from '../faults/redis.ts';
import type { Trial, TrialStage, WorkerAt } from './trial-stage.ts';

const workerDiesAt =
  (checkpoint: CheckpointName): Trial['play'] =>
  async (stage) => {
    const { pid, player } = await stage.workerAt(checkpoint);
    await player.disarmWorker();
    await stage.inject(killProcess(pid));
  };

/** No other worker runs, and MySQL is killed while this one records. */
async function batchFails(
  stage: TrialStage,
  inject: (others: Fault) => Promise<Undo>,
): Promise<WorkerAt> {
  const { lab } = stage;
  const arrival = await stage.workerAt('recording');
  for (const name of workerNames(lab.shape))
    if (name !== arrival.instance) await inject(pauseServer(name));
  await stage.inject(killServer(lab.database));
  await arrival.worker.until('recorded'); // It is done with the batch, and has recorded nothing.
  return arrival;
}

const rolledBack = {
  'redis-matches-mysql':
    'Redis has lost writes that it acknowledged: it must be rebuilt from MySQL',
} as const;

/** The order of user 7 is recorded, and Redis forgets it. */
const orderIsLost =
  ({ nextBuyer }: { nextBuyer: string }): Trial['play'] =>
  async (stage) => {
    const rollBack = rollBackTo(stage.lab, 'redis-main');
    await stage.recorded(await stage.accepted('7'));
    await stage.inject(rollBack);
    await stage.instancesReady();
    await stage.accepted(nextBuyer);
  };

const refused = {
  'no-lost-orders':
    'MySQL refuses an accepted order, so the order fails; no other order explains it',
} as const;

/** Something happens to an order worker, or to the group of all of them. */
const workerTrials = {
  'worker-dies': {
    fault: { en: 'the worker is killed with an order in hand', zh: '消费者手里有订单时被杀死' },
    stock: 1,
    play: workerDiesAt('delivered'),
  },
  'worker-dies-after-commit': {
    fault: {
      en: 'the worker is killed after the commit, before it acknowledges',
      zh: '消费者在提交之后、确认之前被杀死',
    },
    stock: 1,
    play: workerDiesAt('recorded'),
  },
  'batch-fails': {
    fault: {
      en: 'MySQL is killed during a batch; the worker lives, and no other one runs',
      zh: 'MySQL 在一批订单中途被杀死；消费者还活着，没有别的消费者',
    },
    stock: 1,
    async play(stage) {
      await batchFails(stage, (others) => stage.injectToTheEnd(others));
    },
  },
  'worker-stops': {
    fault: {
      en: 'MySQL is killed during a batch, and its worker is stopped before MySQL is back',
      zh: 'MySQL 在一批订单中途被杀死，它恢复之前消费者被停掉',
    },
    stock: 1,
    async play(stage) {
      const { pid, worker, player } = await batchFails(stage, (others) => stage.inject(others));
      await player.disarmWorker();
      process.kill(pid, 'SIGTERM');
      await worker.resume();
      await stage.until('the worker to end', async () => processRef(pid) === null);
    },
  },
  'workers-away': {
    fault: {
      en: 'no worker runs while two orders are accepted',
      zh: '受理两个订单时没有消费者在运行',
    },
    stock: 2,
    async play(stage) {
      await stage.inject(stopWorkers);
      await stage.accepted('7');
      await stage.accepted('8');
    },
  },
  'group-lost': {
    fault: {
      en: 'Redis is killed and has no consumer group; an order is queued',
      zh: 'Redis 被杀死，没有了消费组；有一个订单在排队',
    },
    stock: 1,
    async play(stage) {
      await stage.inject(stopWorkers);
      await stage.accepted('7');
      await stage.inject(loseGroup('redis-main'));
    },
  },
} as const satisfies Record<string, Trial>;

/** Something happens to Redis, or to an answer of it. */
const redisTrials = {
  'answer-lost': {
    fault: {
      en: 'the instance dies before it answers; the client repeats its request',
      zh: '实例在响应之前宕机，客户端重发请求',
    },
    stock: 2,
    async play(stage) {
      await stage.inject(stopWorkers); // So that nobody mends meanwhile what was sold twice.
      const requestId = randomUUID();
      const { headers, request } = stage.meetRequest();
      const first = stage.buy('7', { requestId, headers });
      const { pid } = await request.until('before-release');
      await stage.inject(killProcess(pid));
      await first;
      await stage.accepted('7', { requestId });
      await stage.buy('8');
    },
  },
  'answer-late': {
    fault: {
      en: 'Redis is paused, and runs the purchase after the instance has given up',
      zh: 'Redis 停顿，实例已经放弃之后它才执行购买',
    },
    stock: 2,
    async play(stage) {
      const resume = await stage.inject(pauseServer('redis-main'));
      const { outcome } = await stage.buy('7');
      await resume();
      if (outcome !== 'unknown') throw labError('TRIAL_NOT_PLAYED', `the purchase was ${outcome}`);
      await stage.until('the late purchase', () => hasOrderOf(stage, '7'));
      await sleep(1_000); // What an instance does late on its own, it has done by then.
      await stage.accepted('8');
    },
  },
  'redis-killed': {
    fault: {
      en: 'Redis is killed while an order is queued, and restarts with its data',
      zh: '订单还在排队，Redis 被杀死，带着数据重启',
    },
    stock: 1,
    async play(stage) {
      await stage.inject(stopWorkers);
      await stage.accepted('7');
      await stage.inject(restartServer('redis-main'));
    },
  },
  'file-cut-same-user': {
    fault: {
      en: 'the append-only file loses a recorded order; its user buys again',
      zh: '追加文件丢了一个已入库的订单，它的用户再买一次',
    },
    stock: 2,
    breaks: rolledBack,
    play: orderIsLost({ nextBuyer: '7' }),
  },
  'file-cut-last-unit': {
    fault: {
      en: 'the append-only file loses the last recorded order; another user buys',
      zh: '追加文件丢了最后一个已入库的订单，另一个用户来买',
    },
    stock: 1,
    breaks: { ...rolledBack, 'no-lost-orders': 'Redis sold a unit that it had forgotten' },
    play: orderIsLost({ nextBuyer: '8' }),
  },
  'file-cut-two-at-once': {
    fault: {
      en: 'the append-only file loses an order that is being recorded; its user buys again',
      zh: '追加文件丢了一个正在入库的订单，它的用户再买一次',
    },
    stock: 2,
    breaks: rolledBack,
    async play(stage) {
      const rollBack = rollBackTo(stage.lab, 'redis-main');
      await stage.workerAt('recording');
      await stage.inject(rollBack);
      await stage.instancesReady();
      const { worker } = await stage.workerAt('delivered');
      await worker.resume();
      // For the row of the user's first order, or for that of the stock.
      await stage.waitingSession(
        'the second transaction to wait',
        'INSERT INTO orders',
        'UPDATE seckill_stock',
      );
    },
  },
} as const satisfies Record<string, Trial>;

/** MySQL refuses an order, or ends a statement. */
const mysqlTrials = {
  'row-refused': {
    fault: {
      en: 'MySQL refuses an accepted order at every delivery, and no other one',
      zh: 'MySQL 每次都拒绝同一个已受理的订单，其他订单照常写入',
    },
    stock: 2,
    breaks: refused,
    async play(stage) {
      await stage.injectToTheEnd(refuseOrders(stage.voucherId, '7'));
      await stage.accepted('7');
      await stage.accepted('8');
    },
  },
  'late-worker': {
    fault: {
      en: 'a worker is paused with an order that meanwhile is dead-lettered, then it resumes',
      zh: '消费者手里有一个订单时停住，订单在此期间成了死信，然后它继续运行',
    },
    stock: 2,
    breaks: refused,
    async play(stage) {
      const { worker, player } = await stage.workerAt('delivered');
      await player.disarmWorker();
      const allow = await stage.inject(refuseOrders(stage.voucherId, '7'));
      await stage.until('the dead letter', async () => !(await stage.isBuyer('7')));
      await allow();
      await player.armWorker();
      await worker.until('recorded');
      await stage.accepted('8');
    },
  },
  'worker-dies-after-dead-letter': {
    fault: {
      en: 'the worker is killed after it has given an order back, before it acknowledges',
      zh: '消费者归还订单之后、确认之前被杀死',
    },
    stock: 2,
    breaks: refused,
    async play(stage) {
      await stage.inject(refuseOrders(stage.voucherId, '7'));
      const { worker, player, ...first } = await stage.workerAt('recorded');
      let { pid } = first;
      while (await stage.isBuyer('7')) ({ pid } = await worker.until('recorded'));
      await player.disarmWorker();
      await stage.inject(killProcess(pid));
      await stage.accepted('8');
    },
  },
  'stock-comes-back': {
    fault: {
      en: 'the last order is dead-lettered, and its stock is for sale again',
      zh: '最后一个订单成了死信，它的库存重新开售',
    },
    stock: 1,
    breaks: refused,
    async play(stage) {
      const baseUrl = `http://127.0.0.1:${stage.lab.portOf('api-1')}`;
      const start = await stage.inject(stopWorkers);
      const allow = await stage.inject(refuseOrders(stage.voucherId, '7'));
      await stage.accepted('7', { baseUrl });
      for (const userId of ['8', '9', '10']) await stage.buy(userId, { baseUrl });
      await start();
      await stage.until('the dead letter', async () => !(await stage.isBuyer('7')));
      await allow();
      await sleep(reopensAfterMs + 500); // The sale stays closed for so long.
      await stage.buy('11', { baseUrl });
    },
  },
  'statement-killed': {
    fault: {
      en: 'a statement of the transaction is killed, after the insert of the order',
      zh: '写入订单之后，事务里的一条语句被杀死',
    },
    stock: 100,
    async play(stage) {
      const start = await stage.inject(stopWorkers);
      await stage.accepted('7');
      const free = await stage.inject(holdStock([stage.voucherId]));
      await start();
      const session = await killDecrement(stage);
      await free();
      let user = 8; // Its transaction may begin in the session where the other one was not ended.
      await stage.until(
        'the transaction to end',
        async () => {
          await stage.recorded(await stage.accepted(String(user++)));
          return !(await isInTransaction(stage.lab, session));
        },
        rereadMs,
      );
    },
  },
} as const satisfies Record<string, Trial>;

export const trials = { ...workerTrials, ...redisTrials, ...mysqlTrials };
export type TrialName = keyof typeof trials;
export const trialNames = Object.keys(trials) as TrialName[];

export const isTrialName = (name: string): name is TrialName => Object.hasOwn(trials, name);

async function hasOrderOf({ connections, voucherId }: TrialStage, userId: string) {
  const sql = 'SELECT id FROM orders WHERE voucher_id = ? AND user_id = ?';
  return (await select(connections.mysql(), sql, [voucherId, userId])).length > 0;
}

/**
 * Ends the statement while it waits, and neither its transaction nor its session. One that has just
 * begun may still be prepared, and then it would run in spite of this.
 * @returns the session.
 */
async function killDecrement(stage: TrialStage): Promise<number> {
  const session = await stage.waitingSession('the decrement to wait', 'UPDATE seckill_stock');
  await stage.connections.mysql().query(`KILL QUERY ${session}`);
  return session;
}
