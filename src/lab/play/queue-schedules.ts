/**
 * The hops of an order behind the sale, and a kill at each of them: the last voucher is sold, its
 * order is on its way, and something dies exactly there. `W` is the process that consumes the
 * queue: an order worker, or the instance itself.
 */
import { fault, heal, kill, lastOne, run, type Schedule } from './schedule.ts';

const queued = { ...lastOne, needs: 'queue', shows: 'no-lost-orders' } as const;

/** Faults of the database, which no rung is meant to break under. */
const onDatabase = { ...queued, rung: 'memory', lanes: { A: '7' } } as const;

const isAccepted = run('A', 'answer', 'is told: accepted', '被告知：已受理');
const soldOut = run('B', 'answer', 'sold out, but nobody bought it', '售罄，却没有人买到', {
  wrong: true,
});
const delivered = run('W', 'delivered', 'has the order in hand', '已取到订单');
const isCommitting = run('W', 'recording', 'is about to commit', '即将提交');
const commitLost = run('W', 'recorded', 'has lost its commit', '提交丢失', { wrong: true });

export const queueSchedules = {
  'instance-dies': {
    title: { en: 'the instance dies after it has queued an order', zh: '实例在订单入队之后宕机' },
    under: 'instance-dies',
    rung: 'memory',
    next: 'redis-list',
    ...queued,
    byHand: { choices: 'AAXWB' },
    steps: [
      run('A', 'published', 'has queued its order', '订单已入队', { orUntil: ['before-release'] }),
      delivered,
      isAccepted,
      kill('A', 'dies, with all that it remembers', '宕机，记忆全部丢失', { answered: true }),
      soldOut,
    ],
  },
  'worker-dies': {
    title: { en: 'the worker dies with an order in hand', zh: '消费者拿着订单宕机' },
    under: 'worker-dies',
    rung: 'redis-list',
    next: 'redis-list-reliable',
    ...queued,
    byHand: { choices: 'AAXWB' },
    steps: [
      isAccepted,
      delivered,
      kill('W', 'dies before it records the order', '在写入订单之前宕机'),
      soldOut,
    ],
  },
  'worker-dies-after-commit': {
    title: {
      en: 'the worker dies between the commit and the acknowledgement',
      zh: '消费者在提交与确认之间宕机',
    },
    under: 'worker-dies-after-commit',
    rung: 'redis-list-reliable',
    ...queued,
    byHand: { choices: 'AAWXWB' },
    steps: [
      isAccepted,
      run('W', 'recorded', 'has committed the order', '已提交订单'),
      kill('W', 'dies before it acknowledges', '在确认之前宕机'),
      soldOut,
    ],
  },
  'worker-away': {
    title: { en: 'no worker runs while an order is queued', zh: '有订单排队时没有消费者运行' },
    under: 'worker-away',
    rung: 'redis-pubsub',
    next: 'redis-stream-last-id',
    ...queued,
    byHand: { choices: 'SWAAHWB' },
    steps: [
      fault('workers-away', 'no order worker runs', '没有订单消费者在运行'),
      isAccepted,
      heal('workers-away', 'an order worker starts', '一个订单消费者启动'),
      soldOut,
    ],
  },
  'queue-restarts': {
    title: {
      en: 'the server of the queue is killed, and restarts with its data',
      zh: '队列的服务器被杀死，带着数据重启',
    },
    under: 'queue-restarts',
    rung: 'redis-pubsub',
    next: 'redis-stream',
    ...queued,
    stock: 2,
    byHand: { choices: 'PWKQAARWB' },
    steps: [
      fault('workers-paused', 'the order workers stand still', '订单消费者停住'),
      isAccepted,
      fault('queue-restarts', 'is killed, and starts', '被杀死，又启动'),
      run('B', 'answer', 'accepted; no worker is connected', '已受理；没有消费者连接', {
        wrong: true,
      }),
      heal('workers-paused', 'they go on, and connect again', '继续运行，重新连接'),
    ],
  },
  'database-restarts': {
    title: {
      en: 'the database is killed during a batch, and restarts',
      zh: '数据库在批处理中被杀死，又重启',
    },
    under: 'database-restarts',
    ...onDatabase,
    byHand: { choices: 'AAAWKYWWW', stopsEverywhere: true },
    steps: [
      isAccepted,
      isCommitting,
      fault('database-restarts', 'is killed, and starts', '被杀死，又启动'),
      commitLost,
    ],
  },
  'session-killed': {
    title: {
      en: 'the session of the worker is killed in the database',
      zh: '消费者的会话在数据库中被杀死',
    },
    under: 'session-killed',
    ...onDatabase,
    byHand: { choices: 'AAAWKXWWW', stopsEverywhere: true },
    steps: [
      isAccepted,
      isCommitting,
      fault('session-killed', 'its session is killed', '其会话被杀死'),
      commitLost,
    ],
  },
  'connections-used-up': {
    title: {
      en: 'other clients have all connections of the database',
      zh: '其他客户端占满数据库的连接',
    },
    under: 'connections-used-up',
    ...onDatabase,
    byHand: { choices: 'AAKUWWMUWW' },
    steps: [
      isAccepted,
      delivered,
      fault('connections-used-up', 'refuses: too many connections', '拒绝：连接太多'),
      run('W', 'recorded', 'gives the order up', '放弃该订单', {
        unlessRecorded: true,
        wrong: true,
      }),
      heal('connections-used-up', 'the others are gone', '其他客户端已离开'),
    ],
  },
} as const satisfies Record<string, Schedule>;
