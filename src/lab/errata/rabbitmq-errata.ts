/** Errata about the RabbitMQ of the notes. */
import { randomUUID } from 'node:crypto';
import { type Channel, type ChannelModel, connect, type Message } from 'amqplib';
import type { Pool } from '../../service/connections/mysql.ts';
import { waitUntil } from '../environment/wait-until.ts';
import type { Stage } from '../stage/stage.ts';
import { type Erratum, rowsIn, timesOf, withTables } from './erratum.ts';

const deliveriesMax = 20;
const retriesMax = 5;

async function withRabbitmq<T>(
  { lab }: Stage,
  work: (model: ChannelModel) => Promise<T>,
): Promise<T> {
  await lab.provide(['rabbitmq']);
  const model = await connect(lab.environment['RABBITMQ_URL'] ?? '');
  try {
    return await work(model);
  } finally {
    await model.close();
  }
}

/** The consumer of the notes: it raises the header of its copy, and gives the message back. */
async function countedInHeader(channel: Channel): Promise<number[]> {
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const counts: number[] = [];
  const isOver = () => counts.length === deliveriesMax || counts.at(-1) === retriesMax;
  await channel.consume(queue, (message) => {
    if (!message || isOver()) return;
    const headers = message.properties.headers ?? {};
    const count = Number(headers['x-retry-count'] ?? 1);
    counts.push(count);
    headers['x-retry-count'] = count + 1;
    channel.nack(message, false, count < retriesMax);
  });
  channel.sendToQueue(queue, Buffer.from('an order that MySQL refuses'));
  await waitUntil('the deliveries', 20_000, isOver);
  return counts;
}

/** The same consumer without a header: the broker counts, and moves the message. */
async function countedByBroker(channel: Channel): Promise<{ deliveries: number; dead: number }> {
  const name = `erratum-${randomUUID()}`;
  const { queue: deadLetters } = await channel.assertQueue('', { exclusive: true });
  const bounds = {
    'x-queue-type': 'quorum',
    'x-delivery-limit': retriesMax - 1, // The first delivery is not counted.
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': deadLetters,
  };
  await channel.assertQueue(name, { durable: true, arguments: bounds });
  let deliveries = 0;
  await channel.consume(name, (message) => {
    if (!message) return;
    deliveries += 1;
    channel.nack(message, false, true);
  });
  channel.sendToQueue(name, Buffer.from('an order that MySQL refuses'));
  const dead = async () => (await channel.checkQueue(deadLetters)).messageCount;
  await waitUntil('the dead letter', 20_000, async () => (await dead()) === 1);
  await channel.deleteQueue(name);
  return { deliveries, dead: await dead() };
}

/** A consumer dies between its two last steps. @returns the messages that the queue has then */
async function messagesLeft(
  { db, model, table }: { db: Pool; model: ChannelModel; table: string },
  diesAfter: 'acknowledgement' | 'commit',
): Promise<number> {
  const [channel, other] = [await model.createChannel(), await model.createChannel()];
  const { queue } = await channel.assertQueue('', { exclusive: true });
  const arrival = Promise.withResolvers<Message>();
  await channel.consume(queue, (message) => {
    if (message) arrival.resolve(message);
  });
  channel.sendToQueue(queue, Buffer.from('7'));
  const message = await arrival.promise;
  const connection = await db.getConnection();
  await connection.beginTransaction();
  await connection.query(`INSERT INTO ${table} (id) VALUES (7)`);
  if (diesAfter === 'acknowledgement') channel.ack(message);
  else await connection.commit();
  await channel.close(); // RabbitMQ has what was sent before.
  connection.destroy();
  return (await other.checkQueue(queue)).messageCount;
}

export const rabbitmqErrata = {
  'header-never-counts': {
    says: {
      en: 'the RabbitMQ consumer puts x-retry-count + 1 into the headers and throws; after five it rejects',
      zh: 'RabbitMQ 消费者把 x-retry-count 加一写进 headers，再抛异常；五次之后拒绝',
    },
    truth: {
      en: 'The header is changed in the copy of the consumer. Where the broker delivers again, it delivers the original: the count stays at one, and the message comes back for ever. (With the retry of Spring’s listener, in the process, it counts; the notes do not show which one is set.) Here the broker counts: x-delivery-limit of a quorum queue.',
      zh: '改的是消费者手里那份拷贝。由 broker 重投时，投的是原来的消息：计数永远是一，消息没完没了地回来。（如果用 Spring 监听器在进程内重试，会计数；笔记没有写用的是哪一种。）这里由 broker 来数：仲裁队列的 x-delivery-limit。',
    },
    play: ({ stage, tell }) =>
      withRabbitmq(stage, async (model) => {
        const channel = await model.createChannel();
        const counts = await countedInHeader(channel);
        const { deliveries, dead } = await countedByBroker(channel);
        const isRejected = counts.at(-1) === retriesMax;
        tell(
          `x-retry-count at each delivery: ${counts.join(' ')}`,
          `每次投递时的 x-retry-count：${counts.join(' ')}`,
        );
        tell(
          `rejected after five: ${isRejected ? 'yes' : 'no'}`,
          `五次之后拒绝了吗：${isRejected ? '拒绝了' : '没有'}`,
        );
        tell(
          `counted by the broker: ${deliveries} deliveries, then dead letters: ${dead}`,
          `由 broker 来数：投递 ${deliveries} 次，然后进死信队列：${dead} 条`,
        );
        return counts.every((count) => count === 1) && deliveries === retriesMax;
      }),
  },
  'acknowledged-before-commit': {
    says: {
      en: 'the RabbitMQ consumer is @Transactional, and calls basicAck inside it',
      zh: 'RabbitMQ 消费者有 @Transactional，basicAck 写在方法里面',
    },
    truth: {
      en: 'The transaction commits after the method returns, so the broker drops the message first. A crash between the two loses the order. Here the worker acknowledges after the commit: a crash between the two delivers again, and the order id keeps it one order.',
      zh: '方法返回之后事务才提交，broker 却已经删掉了消息：死在两者之间，订单就丢了。这里的消费者提交之后才确认：死在中间会再投一次，靠订单号保证只有一单。',
    },
    play: ({ stage, tell }) =>
      withRabbitmq(stage, (model) =>
        withTables(stage, [], async (db, [notes, ours]) => {
          const left = [
            await messagesLeft({ db, model, table: notes }, 'acknowledgement'),
            await messagesLeft({ db, model, table: ours }, 'commit'),
          ];
          const saved = [await rowsIn(db, notes), await rowsIn(db, ours)];
          tell(
            `basicAck, death before COMMIT: orders ${saved[0]}, messages left ${left[0]}`,
            `basicAck，COMMIT 之前宕机：订单 ${saved[0]}，剩下的消息 ${left[0]}`,
          );
          tell(
            `COMMIT, death before basicAck: orders ${saved[1]}, messages left ${left[1]}`,
            `COMMIT，basicAck 之前宕机：订单 ${saved[1]}，剩下的消息 ${left[1]}`,
          );
          return [...saved, ...left].join() === '0,1,0,1';
        }),
      ),
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
    play: ({ stage, tell }) =>
      withRabbitmq(stage, async (model) => {
        const exchange = `erratum-${randomUUID()}`;
        const order = Buffer.from('an order');
        const channel = await model.createConfirmChannel();
        await channel.assertExchange(exchange, 'direct', { autoDelete: true });
        const returned = timesOf(channel, 'return');
        channel.publish(exchange, 'no-queue', order);
        await channel.waitForConfirms();
        const unnoticed = returned();
        channel.publish(exchange, 'no-queue', order, { mandatory: true });
        await channel.waitForConfirms();
        await channel.deleteExchange(exchange);
        tell(
          `published to an exchange without a queue: confirmed, messages returned: ${unnoticed}`,
          `发到没有队列的交换机：已确认，退回的消息：${unnoticed}`,
        );
        tell(
          `the same with mandatory: ${returned()} returned`,
          `加上 mandatory：退回 ${returned()} 条`,
        );
        return unnoticed === 0 && returned() === 1;
      }),
  },
} as const satisfies Record<string, Erratum>;
