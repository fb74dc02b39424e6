/** The trials in which something happens to an order worker, or to the group of all of them. */
import type { CheckpointName } from '../../service/trace/checkpoints.ts';
import { processRef } from '../environment/process-table.ts';
import { workerNames } from '../environment/servers/service.ts';
import { killProcess, killServer, pauseServer, stopWorkers } from '../faults/process.ts';
import { loseGroup } from '../faults/redis.ts';
import type { Trial } from './trial.ts';

const workerDiesAt =
  (checkpoint: CheckpointName): Trial['play'] =>
  async (stage) => {
    const { pid, player } = await stage.workerAt(checkpoint);
    await player.disarmWorker();
    await stage.inject(killProcess(pid));
  };

export const workerTrials = {
  'worker-dies': {
    fault: {
      en: 'the worker is killed with an order in hand',
      zh: '消费者手里有订单时被杀死',
    },
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
      const { lab } = stage;
      const { instance, worker } = await stage.workerAt('recording');
      for (const name of workerNames(lab.shape))
        if (name !== instance) await stage.injectToTheEnd(pauseServer(name));
      await stage.inject(killServer(lab.database));
      await worker.until('recorded'); // It is done with the batch, and has recorded nothing.
    },
  },
  'worker-stops': {
    fault: {
      en: 'MySQL is killed during a batch, and its worker is stopped before MySQL is back',
      zh: 'MySQL 在一批订单中途被杀死，它恢复之前消费者被停掉',
    },
    stock: 1,
    async play(stage) {
      const { lab } = stage;
      const { instance, pid, worker, player } = await stage.workerAt('recording');
      for (const name of workerNames(lab.shape))
        if (name !== instance) await stage.inject(pauseServer(name));
      await stage.inject(killServer(lab.database));
      await worker.until('recorded'); // It is done with the batch, and has recorded nothing.
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
