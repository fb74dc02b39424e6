/** Errata about the queues of the notes. */
import type { Redis } from 'ioredis';
import { waitUntil } from '../environment/wait-until.ts';
import type { Stage } from '../stage/stage.ts';
import { type Erratum, timesOf, withClient, withNotesVoucher } from './erratum.ts';

const total = 800;
const messageBytes = 100_000;

/** The messages of a list that each of two consumers gets, who ask in turn. */
async function takenBy(redis: Redis, key: string, sent: readonly string[]): Promise<string[][]> {
  await redis.rpush(key, ...sent);
  const taken: [string[], string[]] = [[], []];
  for (const _ of sent) {
    taken.reverse();
    taken[0].push(...((await redis.lpop(key, 1)) ?? []));
  }
  return taken;
}

/** The same for a consumer group: the ids of their entries. */
async function grantedTo(redis: Redis, key: string, sent: readonly string[]): Promise<string[][]> {
  await redis.xgroup('CREATE', key, 'workers', '0', 'MKSTREAM');
  for (const message of sent) await redis.xadd(key, '*', 'order', message);
  const granted: string[][] = [];
  for (const consumer of ['one', 'other']) {
    const entries = await redis.xreadgroup(
      ...(['GROUP', 'workers', consumer, 'COUNT', 10, 'STREAMS', key, '>'] as const),
    );
    granted.push(entries?.flatMap(([, read]) => read.map(([id]) => id)) ?? []);
  }
  return granted;
}

/** The ids that one reader gets, without a group: its place in the stream is its own. */
async function allIn(redis: Redis, key: string): Promise<string[]> {
  const found = await redis.xread('STREAMS', key, '0');
  return found?.flatMap(([, entries]) => entries.map(([id]) => id)) ?? [];
}

/** How many messages of a channel a subscriber hears: by its name, and by a pattern. */
const heardBy = (stage: Stage, redis: Redis, channel: string, sent: readonly string[]) =>
  withClient(stage, 'subscriber', (one) =>
    withClient(stage, 'subscriber', async (other) => {
      const exact = timesOf(one, 'message');
      const pattern = timesOf(other, 'pmessage');
      await one.subscribe(channel);
      await other.psubscribe('order.*');
      for (const message of sent) await redis.publish(channel, message);
      const isHeard = () => Math.min(exact(), pattern()) === sent.length;
      await waitUntil('the messages', 10_000, isHeard);
      return { exact: exact(), pattern: pattern() };
    }),
  );

const counted = (got: readonly (readonly string[])[]): string =>
  got.map(({ length }) => length).join(' + ');

export const queueErrata = {
  'add-to-a-full-queue': {
    says: {
      en: 'the script, then orderTasks.add(order)',
      zh: '先执行脚本，再 orderTasks.add(voucherOrder)',
    },
    truth: {
      en: 'add() of a full ArrayBlockingQueue throws, after the script has taken the stock and noted the buyer: no order, no unit, and the buyer can never buy again. A crash between the two does the same.',
      zh: 'ArrayBlockingQueue 满了，add() 会抛异常，而脚本已经扣了库存、记下了买家：没有订单，少一张券，这个用户再也买不了。进程死在两步之间也一样。',
    },
    async play({ redis, key, tell }) {
      const queue: string[] = [];
      const add = (order: string) => {
        if (queue.length === 2) throw new Error('Queue full');
        queue.push(order);
      };
      return withNotesVoucher({ redis, key }, 10, async (voucher) => {
        for (const user of ['1', '2', '3', '4']) {
          const answer = await voucher.buy(user);
          try {
            if (answer === 0) add(user);
          } catch (error) {
            tell(
              `user ${user}: the script answers ${answer}, add(): ${String(error)}`,
              `用户 ${user}：脚本返回 ${answer}，add()：${String(error)}`,
            );
          }
        }
        const again = await voucher.buy('3');
        const taken = 10 - Number(await voucher.stock());
        tell(
          `stock taken: ${taken}; orders in the queue: ${queue.length}`,
          `扣掉的库存：${taken}；队列里的订单：${queue.length}`,
        );
        tell(
          `user 3 tries again: ${again} (2 is bought before)`,
          `用户 3 再试一次：${again}（2 是“已经买过”）`,
        );
        return taken === 4 && queue.length === 2 && again === 2;
      });
    },
  },
  'worker-before-its-proxy': {
    says: {
      en: 'orderTasks.add(order) stands before proxy = …; the worker catches InterruptedException',
      zh: 'orderTasks.add(voucherOrder) 写在 proxy = … 前面；消费者只 catch InterruptedException',
    },
    truth: {
      en: 'The worker can take the first order while proxy is null. That error is another one, so the only thread ends: every later order is accepted, and nobody records it. Here a worker needs no request, and an error ends no loop.',
      zh: '消费者可能在 proxy 还是 null 时取到第一单。这个异常不是 InterruptedException，唯一的线程就结束了：后面的订单都返回成功，却没有人写库。这里的消费者不依赖请求，异常也不会结束循环。',
    },
    async play({ redis, key, tell }) {
      class InterruptedException extends Error {}
      const queue: string[] = [];
      const recorded: string[] = [];
      let proxy: { record(order: string): void } | null = null;
      let endedBy: unknown;
      const take = () => {
        if (endedBy) return;
        const order = queue.shift();
        if (order === undefined) return;
        try {
          if (!proxy) throw new TypeError('proxy is null');
          proxy.record(order);
        } catch (error) {
          if (!(error instanceof InterruptedException)) endedBy = error; // Nobody catches it.
        }
      };
      return withNotesVoucher({ redis, key }, 10, async (voucher) => {
        for (const user of ['1', '2', '3']) {
          if ((await voucher.buy(user)) === 0) queue.push(user);
          take(); // The worker is faster than the next line.
          proxy = { record: (order) => recorded.push(order) };
        }
        const taken = 10 - Number(await voucher.stock());
        tell(`accepted: ${taken}; the worker: ${endedBy}`, `已受理：${taken}；消费者：${endedBy}`);
        tell(
          `recorded: ${recorded.length}; still in the queue: ${queue.length}`,
          `写进库的：${recorded.length}；还在队列里的：${queue.length}`,
        );
        return taken === 3 && recorded.length === 0 && queue.length === 2;
      });
    },
  },
  'list-in-order': {
    says: { en: 'a List keeps messages in order', zh: 'List 可以满足消息有序性' },
    truth: {
      en: 'It hands them out in order. One consumer also finishes them in order; of two, one may be slow, and finish its message behind all others.',
      zh: '取出来是有序的。只有一个消费者时，处理完的顺序也一样；有两个时，慢的那个可能最后才处理完。',
    },
    async play({ redis, key, tell }) {
      const sent = Array.from({ length: 20 }, (_, at) => String(at + 1));
      const consume = async (done: string[], work = async () => {}) => {
        for (let next = await redis.lpop(key); next !== null; next = await redis.lpop(key)) {
          await work();
          done.push(next);
        }
      };
      const isEmpty = async () => (await redis.llen(key)) === 0;
      const [alone, together]: [string[], string[]] = [[], []];
      await redis.rpush(key, ...sent);
      await consume(alone);
      await redis.rpush(key, ...sent);
      const slow = consume(together, () => waitUntil('the other consumer', 10_000, isEmpty));
      await Promise.all([slow, consume(together)]);
      tell(`one consumer: ${alone.join(' ')}`, `一个消费者：${alone.join(' ')}`);
      tell(
        `two consumers, one of them slow: ${together.join(' ')}`,
        `两个消费者，其中一个慢：${together.join(' ')}`,
      );
      const isKept = [alone, together].map((done) => done.join() === sent.join());
      return isKept[0] === true && isKept[1] === false && together.length === sent.length;
    },
  },
  'rpop-does-not-wait': {
    says: {
      en: 'RPOP of an empty List answers null and does not block; BRPOP does; XREAD has BLOCK',
      zh: '队列没有消息时 RPOP 返回 null，不会阻塞；用 BRPOP；XREAD 有阻塞读取',
    },
    truth: {
      en: 'This is so, and here it is: with RPOP a worker without work asks all the time. BRPOP and XREAD BLOCK wait in Redis, with one command.',
      zh: '这句话没错，这里跑给你看：用 RPOP，空闲的消费者一直在问；BRPOP 和 XREAD BLOCK 在 Redis 里等，只用一条命令。',
    },
    play: ({ stage, key, tell }) =>
      withClient(stage, 'subscriber', async (client) => {
        const answers: unknown[] = [await client.brpop(`${key}:list`, 1)];
        answers.push(await client.xread('BLOCK', 1_000, 'STREAMS', `${key}:stream`, '$'));
        let asked = 0;
        const untilMs = performance.now() + 1_000;
        while (performance.now() < untilMs) {
          answers.push(await client.rpop(`${key}:list`));
          asked += 1;
        }
        tell(
          `one second without a message: RPOP was sent ${asked} times, BRPOP once, XREAD BLOCK once`,
          `一秒没有消息：RPOP 发了 ${asked} 次，BRPOP 一次，XREAD BLOCK 一次`,
        );
        return asked > 100 && answers.every((answer) => answer === null);
      }),
  },
  'read-back': {
    says: {
      en: 'messages can be read back (消息回溯): List and PubSub cannot, a Stream can',
      zh: '消息回溯：List 和 PubSub 不支持，Stream 支持',
    },
    truth: {
      en: 'This is so, and here it is: an entry that was acknowledged is still in the stream. It also stays in the memory of Redis, so here the worker deletes it, and the order is in MySQL.',
      zh: '这句话没错，这里跑给你看：ACK 过的消息还在 Stream 里。它也一直占着 Redis 的内存，所以这里的消费者会删掉它，订单在 MySQL 里。',
    },
    async play({ redis, key, tell }) {
      const [list, stream] = [`${key}:list`, `${key}:stream`];
      const sent = ['1', '2', '3', '4', '5'];
      await takenBy(redis, list, sent);
      const inList = await redis.lrange(list, 0, -1);
      const granted = (await grantedTo(redis, stream, sent)).flat();
      const acknowledged = await redis.xack(stream, 'workers', ...granted);
      const inStream = await redis.xrange(stream, '-', '+');
      const published = await redis.publish(key, 'an order');
      await redis.xdel(stream, ...granted);
      const afterDeletion = await redis.xrange(stream, '-', '+');
      await redis.del(stream);
      tell(
        `List, 5 of 5 popped: LRANGE ${inList.length}; PubSub: PUBLISH reaches ${published}, nothing is kept`,
        `List，5 条全部弹出：LRANGE ${inList.length} 条；PubSub：PUBLISH 收到的 ${published} 个，不保存`,
      );
      tell(
        `Stream, ${acknowledged} of 5 acknowledged: XRANGE ${inStream.length}; after XDEL ${afterDeletion.length}`,
        `Stream，5 条已 ACK ${acknowledged} 条：XRANGE ${inStream.length} 条；XDEL 之后 ${afterDeletion.length} 条`,
      );
      const kept = [inList, inStream, afterDeletion].map(({ length }) => length);
      return acknowledged === 5 && kept.join() === '0,5,0';
    },
  },
  'one-or-every-consumer': {
    says: {
      en: 'List: one message for one consumer; PubSub: many producers and consumers, PSUBSCRIBE order.*',
      zh: 'List 只支持单消费者；PubSub 支持多生产、多消费，可以 PSUBSCRIBE order.*',
    },
    truth: {
      en: 'This is so, and here it is: a List and a consumer group divide the messages among the consumers. A channel gives each message to every subscriber, and a stream each entry to every reader with XREAD, so two workers both record each order.',
      zh: '这句话没错，这里跑给你看：List 和消费者组把消息分给各个消费者；频道把每条消息发给每个订阅者，不用消费者组的 XREAD 也一样，两个消费者会各自写一遍订单。',
    },
    async play({ stage, redis, key, tell }) {
      const sent = Array.from({ length: 20 }, (_, at) => String(at));
      const heard = await heardBy(stage, redis, `order.${key}`, sent);
      const taken = await takenBy(redis, `${key}:list`, sent);
      const stream = `${key}:stream`;
      const grouped = await grantedTo(redis, stream, sent);
      const read = [await allIn(redis, stream), await allIn(redis, stream)];
      await redis.del(stream);
      tell(
        `${sent.length} messages, two consumers: List ${counted(taken)}, group ${counted(grouped)}`,
        `${sent.length} 条消息，两个消费者：List ${counted(taken)}，消费者组 ${counted(grouped)}`,
      );
      tell(
        `XREAD ${counted(read)}, SUBSCRIBE ${heard.exact} + PSUBSCRIBE order.* ${heard.pattern}`,
        `XREAD ${counted(read)}，SUBSCRIBE ${heard.exact} + PSUBSCRIBE order.* ${heard.pattern}`,
      );
      const isDivided = [taken, grouped].every(
        (got) => counted(got) === '10 + 10' && new Set(got.flat()).size === sent.length,
      );
      const isHeard = heard.exact === sent.length && heard.pattern === sent.length;
      return isDivided && counted(read) === '20 + 20' && isHeard;
    },
  },
  'pubsub-limit': {
    says: {
      en: 'PubSub: messages pile up to a limit, that of the consumer’s buffer (right)',
      zh: 'PubSub：消息堆积有上限，受限于消费者缓冲区（说得对）',
    },
    truth: {
      en: 'The limit is that of the output buffer of each subscriber. Beyond it Redis cuts the connection, and all of it is lost.',
      zh: '上限就是每个订阅者的输出缓冲区。超过上限，Redis 就断开连接，里面的全丢。',
    },
    async play({ stage, redis, key: channel, tell }) {
      const name = 'client-output-buffer-limit';
      const [, before = ''] = (await redis.config('GET', name)) as string[];
      const flood = async (slow: Redis) => {
        const received = timesOf(slow, 'message');
        await redis.config('SET', name, 'pubsub 1000000 0 0');
        await slow.subscribe(channel);
        slow.stream.pause();
        let heard = 0;
        for (let sent = 0; sent < total; sent++)
          heard += await redis.publish(channel, 'x'.repeat(messageBytes));
        const now = (await redis.pubsub('NUMSUB', channel)) as [string, number];
        tell(
          `${total} messages of 100 kB to a subscriber that does not read`,
          `向一个不读取的订阅者发 ${total} 条消息，每条 100 kB`,
        );
        tell(
          `Redis had a subscriber for ${heard} of them; subscribers now: ${now[1]}`,
          `其中 ${heard} 条发出时 Redis 还有订阅者；现在的订阅者：${now[1]}`,
        );
        tell(`the subscriber has received ${received()}`, `订阅者收到：${received()} 条`);
        return heard < total && Number(now[1]) === 0;
      };
      return withClient(stage, 'subscriber', flood).finally(() =>
        redis.config('SET', name, before),
      );
    },
  },
} as const satisfies Record<string, Erratum>;
