/** Errata about the queues of the notes. */
import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import type { Redis } from 'ioredis';
import { whenReady } from '../../service/connections/redis.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Erratum } from './erratum.ts';
import { withNotesVoucher } from './notes-script.ts';

const deliveries = 20;
const retriesMax = 5;
const messages = 40;
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
  await redis.del(key);
  return granted;
}

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
    async play(stage, tell) {
      const queue: string[] = [];
      const add = (order: string) => {
        if (queue.length === 2) throw new Error('Queue full');
        queue.push(order);
      };
      return withNotesVoucher(stage.connections.redis('admin'), 10, async (voucher) => {
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
  'header-never-counts': {
    says: {
      en: 'the RabbitMQ consumer puts x-retry-count + 1 into the headers and throws; after five it rejects',
      zh: 'RabbitMQ 消费者把 x-retry-count 加一写进 headers，再抛异常；五次之后拒绝',
    },
    truth: {
      en: 'The header is changed in the copy of the consumer. Where the broker delivers again, it delivers the original: the count stays at one, and the message comes back for ever. (With the retry of Spring’s listener, in the process, it counts; the notes do not show which one is set.)',
      zh: '改的是消费者手里那份拷贝。由 broker 重投时，投的是原来的消息：计数永远是一，消息没完没了地回来。（如果用 Spring 监听器在进程内重试，会计数；笔记没有写用的是哪一种。）',
    },
    async play(stage, tell) {
      await stage.lab.provide(['rabbitmq']);
      const model = await connect(stage.lab.environment['RABBITMQ_URL'] ?? '');
      const channel = await model.createChannel();
      const { queue } = await channel.assertQueue('', { exclusive: true });
      const counts: number[] = [];
      let isRejected = false;
      await channel.consume(queue, (message) => {
        if (!message || counts.length === deliveries) return;
        const headers = message.properties.headers ?? {};
        const count = Number(headers['x-retry-count'] ?? 1);
        counts.push(count);
        isRejected = count >= retriesMax;
        headers['x-retry-count'] = count + 1;
        channel.nack(message, false, !isRejected);
      });
      channel.sendToQueue(queue, Buffer.from('an order that MySQL refuses'));
      const isOver = async () => isRejected || counts.length === deliveries;
      await waitUntil('the deliveries', 20_000, isOver).finally(() => model.close());
      tell(
        `x-retry-count at each delivery: ${counts.join(' ')}`,
        `每次投递时的 x-retry-count：${counts.join(' ')}`,
      );
      tell(
        `rejected after five: ${isRejected ? 'yes' : 'no'}`,
        `五次之后拒绝了吗：${isRejected ? '拒绝了' : '没有'}`,
      );
      return !isRejected && counts.every((count) => count === 1);
    },
  },
  'publish-without-confirm': {
    says: {
      en: 'rabbitTemplate.convertAndSend(exchange, routing key, order), then 下单成功',
      zh: 'rabbitTemplate.convertAndSend(交换机, 路由键, order)，然后返回下单成功',
    },
    truth: {
      en: 'Where no queue takes the message, the broker drops it, and nobody hears of it; with confirms it even confirms it. Here it is also `mandatory`: it comes back, and the buyer is not told that the order was accepted.',
      zh: '没有队列接收，broker 就丢掉消息，谁也不知道；开了 publisher confirm，它还照样确认。这里再加 mandatory：消息会退回来，买家不会被告知已受理。',
    },
    async play(stage, tell) {
      await stage.lab.provide(['rabbitmq']);
      const model = await connect(stage.lab.environment['RABBITMQ_URL'] ?? '');
      const exchange = `erratum-${randomUUID()}`;
      const order = Buffer.from('an order');
      try {
        const channel = await model.createConfirmChannel();
        await channel.assertExchange(exchange, 'direct', { autoDelete: true });
        let returned = 0;
        channel.on('return', () => {
          returned += 1;
        });
        channel.publish(exchange, 'no-queue', order);
        await channel.waitForConfirms();
        const unnoticed = returned;
        channel.publish(exchange, 'no-queue', order, { mandatory: true });
        await channel.waitForConfirms();
        await channel.deleteExchange(exchange);
        tell(
          `published to an exchange without a queue: confirmed, messages returned: ${unnoticed}`,
          `发到没有队列的交换机：已确认，退回的消息：${unnoticed}`,
        );
        tell(
          `the same with mandatory: ${returned} returned`,
          `加上 mandatory：退回 ${returned} 条`,
        );
        return unnoticed === 0 && returned === 1;
      } finally {
        await model.close();
      }
    },
  },
  'list-in-order': {
    says: { en: 'a List keeps messages in order', zh: 'List 可以满足消息有序性' },
    truth: {
      en: 'It hands them out in order. One consumer also finishes them in order; of two, one may be slow, and finish its message behind all others.',
      zh: '取出来是有序的。只有一个消费者时，处理完的顺序也一样；有两个时，慢的那个可能最后才处理完。',
    },
    async play(stage, tell) {
      const redis = stage.connections.redis('admin');
      const key = `erratum-${randomUUID()}`;
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
  'one-or-every-consumer': {
    says: {
      en: 'List: one message for one consumer; PubSub: many producers and consumers, PSUBSCRIBE order.*',
      zh: 'List 只支持单消费者；PubSub 支持多生产、多消费，可以 PSUBSCRIBE order.*',
    },
    truth: {
      en: 'This is so, and here it is: a List and a consumer group divide the messages among the consumers. A channel gives each message to every subscriber, so two workers both record each order.',
      zh: '这句话没错，这里跑给你看：List 和消费者组把消息分给各个消费者；频道把每条消息发给每个订阅者，两个消费者会各自写一遍订单。',
    },
    async play(stage, tell) {
      const redis = stage.connections.redis('admin');
      const key = `order.${randomUUID()}`;
      const clients = [0, 1].map(() => stage.connections.newRedis('subscriber'));
      const heard = [0, 0];
      const sent = Array.from({ length: 20 }, (_, at) => String(at));
      try {
        for (const [at, client] of clients.entries()) {
          await whenReady(client, 5_000);
          for (const event of ['message', 'pmessage'])
            client.on(event, () => {
              heard[at] = Number(heard[at]) + 1;
            });
        }
        await clients[0]?.subscribe(key);
        await clients[1]?.psubscribe('order.*');
        for (const message of sent) await redis.publish(key, message);
        const isHeard = () => heard.every((count) => count === sent.length);
        await waitUntil('the messages', 10_000, isHeard);
        const taken = await takenBy(redis, `${key}:list`, sent);
        const grouped = await grantedTo(redis, `${key}:stream`, sent);
        tell(
          `${sent.length} messages, two consumers: List ${counted(taken)}, group ${counted(grouped)}`,
          `${sent.length} 条消息，两个消费者：List ${counted(taken)}，消费者组 ${counted(grouped)}`,
        );
        tell(
          `SUBSCRIBE ${heard[0]} + PSUBSCRIBE order.* ${heard[1]}`,
          `SUBSCRIBE ${heard[0]} + PSUBSCRIBE order.* ${heard[1]}`,
        );
        const isDivided = [taken, grouped].every(
          (got) => counted(got) === '10 + 10' && new Set(got.flat()).size === sent.length,
        );
        return isDivided && isHeard();
      } finally {
        for (const client of clients) client.disconnect();
      }
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
    async play(stage, tell) {
      const redis = stage.connections.redis('admin');
      const slow = stage.connections.newRedis('subscriber');
      const channel = `erratum-${randomUUID()}`;
      const name = 'client-output-buffer-limit';
      const [, before = ''] = (await redis.config('GET', name)) as string[];
      let received = 0;
      slow.on('message', () => {
        received += 1;
      });
      try {
        await redis.config('SET', name, 'pubsub 1000000 0 0');
        await whenReady(slow, 5_000);
        await slow.subscribe(channel);
        slow.stream.pause();
        let heard = 0;
        for (let sent = 0; sent < messages * 20; sent++)
          heard += await redis.publish(channel, 'x'.repeat(messageBytes));
        const total = messages * 20;
        const now = (await redis.pubsub('NUMSUB', channel)) as [string, number];
        tell(
          `${total} messages of 100 kB to a subscriber that does not read`,
          `向一个不读取的订阅者发 ${total} 条消息，每条 100 kB`,
        );
        tell(
          `Redis had a subscriber for ${heard} of them; subscribers now: ${now[1]}`,
          `其中 ${heard} 条发出时 Redis 还有订阅者；现在的订阅者：${now[1]}`,
        );
        tell(`the subscriber has received ${received}`, `订阅者收到：${received} 条`);
        return heard < total && Number(now[1]) === 0;
      } finally {
        await redis.config('SET', name, before);
        slow.disconnect();
      }
    },
  },
} as const satisfies Record<string, Erratum>;
