/** The trials in which something happens to Redis, or to an answer of it. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { select } from '../../service/connections/mysql.ts';
import { labError } from '../errors.ts';
import { killProcess, pauseServer, restartServer, stopWorkers } from '../faults/process.ts';
import { rollBackTo } from '../faults/redis.ts';
import type { Trial } from './trial.ts';
import type { TrialStage } from './trial-stage.ts';

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

export const redisTrials = {
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
      await stage.until(
        'the second transaction to wait',
        async () =>
          (await stage.isRunning('INSERT INTO orders', 1)) ||
          (await stage.isRunning('UPDATE seckill_stock', 1)),
      );
    },
  },
} as const satisfies Record<string, Trial>;

async function hasOrderOf({ connections, voucherId }: TrialStage, userId: string) {
  const sql = 'SELECT id FROM orders WHERE voucher_id = ? AND user_id = ?';
  return (await select(connections.mysql(), sql, [voucherId, userId])).length > 0;
}
