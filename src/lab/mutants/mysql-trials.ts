/** The trials in which MySQL refuses an order, or ends a statement. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reopensAfterMs } from '../../service/domain.ts';
import { holdStock, isInTransaction, refuseOrders, rereadMs } from '../faults/database.ts';
import { killProcess, stopWorkers } from '../faults/process.ts';
import type { Trial } from './trial.ts';
import type { TrialStage } from './trial-stage.ts';

const refused = {
  'no-lost-orders':
    'MySQL refuses an accepted order, so the order fails; no other order explains it',
} as const;

export const mysqlTrials = {
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

/**
 * Ends the statement while it waits, and neither its transaction nor its session. One that has just
 * begun may still be prepared, and then it would run in spite of this.
 * @returns the session.
 */
async function killDecrement(stage: TrialStage): Promise<number> {
  let session: number | undefined;
  await stage.until('the decrement to wait', async () => {
    session = await stage.idOf('UPDATE seckill_stock', 1);
    return session !== undefined;
  });
  await stage.connections.mysql().query(`KILL QUERY ${session}`);
  return session ?? 0;
}
