/**
 * Idea. A durable queue of RabbitMQ, outside Redis. The publisher waits for a confirm; the worker
 *   acknowledges after the commit. The broker counts the deliveries of an order: after five that
 *   ended without an acknowledgement it moves the order to the exchange `ack.error`.
 * Holds while. RabbitMQ keeps what it confirmed. Each order is then delivered at least once.
 * Breaks when. The process dies after it took an order from stock and before the publish. An order
 *   whose worker died five times waits in the dead letters for an operator, and its stock with it.
 * Source. RabbitMQ, "Reliability Guide" and "Quorum Queues" (delivery limit). The course notes
 *   count the attempts in a header that a redelivery does not keep.
 */

import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { Rabbitmq } from '../connections/rabbitmq.ts';
import type { Order } from '../domain.ts';
import { serviceError } from '../errors.ts';
import type { OrderQueue } from './order-queue.ts';
import { type DeliverOptions, deliverFrom, type Source, WakeUp } from './shared/deliver.ts';
import { asEntry, asText, type Entry } from './shared/order-fields.ts';

export interface RabbitmqOptions extends DeliverOptions {
  /** Most orders in the queue. */
  readonly limit: number;
  /** How long a confirm may take, in milliseconds. */
  readonly answerMs: number;
}

const queue = 'lockstep.orders';
const deadLetters = 'lockstep.orders.dead';
const deadExchange = 'ack.error';
/** The first delivery is not counted. */
const moreDeliveries = 4;
const waitMs = 500;

export function rabbitmqQueue(rabbitmq: Rabbitmq, options: RabbitmqOptions): OrderQueue {
  const { limit, answerMs } = options;
  const publisher = new Publisher(rabbitmq, limit);

  async function reserve() {
    const channel = await publisher.channel();
    if (publisher.isBlocked) return 'queue-full'; // The memory or the disk of the server.
    return channel ? () => {} : 'not-ready';
  }

  async function publish(order: Order): Promise<void> {
    const channel = await publisher.channel();
    if (!channel) throw serviceError('ORDER_NOT_QUEUED', 'there is no connection to RabbitMQ');
    const isConfirmed = await confirmed(channel, order, answerMs);
    if (publisher.returned.delete(order.id))
      throw serviceError('ORDER_NOT_QUEUED', `RabbitMQ has no queue ${queue}`);
    if (isConfirmed) return;
    // A refusal has two causes: the queue is full, or it failed and may have the order.
    const { messageCount } = await channel.checkQueue(queue);
    if (messageCount >= limit) throw serviceError('QUEUE_FULL', limit);
    throw new Error('RabbitMQ did not confirm the order');
  }

  return {
    reserve,
    publish,
    consume: (handle, signal, { discard } = {}) =>
      deliverFrom(messageSource(rabbitmq, options), handle, signal, { discard }, options),
    isInHandUncounted: true,
    async depth() {
      const channel = await publisher.channel();
      if (!channel) throw serviceError('ORDER_NOT_QUEUED', 'there is no connection to RabbitMQ');
      return (await channel.checkQueue(queue)).messageCount;
    },
  };
}

/** The channel that publishes. It ends with its connection, and a new one replaces it. */
class Publisher {
  readonly #rabbitmq: Rabbitmq;
  readonly #limit: number;
  /** Orders that no queue would take: RabbitMQ says so before it confirms them. */
  readonly returned = new Set<string>();
  isBlocked = false;
  #opened: Promise<void> | undefined;
  #channel: ConfirmChannel | undefined;

  constructor(rabbitmq: Rabbitmq, limit: number) {
    this.#rabbitmq = rabbitmq;
    this.#limit = limit;
  }

  /** Undefined while there is no connection. */
  async channel(): Promise<ConfirmChannel | undefined> {
    this.#opened ??= this.#rabbitmq.use((model) => this.#open(model));
    await this.#opened;
    return this.#channel;
  }

  async #open(model: ChannelModel): Promise<void> {
    await declare(model, this.#limit);
    const channel = await model.createConfirmChannel();
    channel.on('error', () => {});
    channel.on('close', () => {
      if (this.#channel === channel) this.#channel = undefined;
    });
    channel.on('return', ({ properties }) => this.returned.add(String(properties.messageId)));
    model.on('blocked', () => {
      this.isBlocked = true;
    });
    model.on('unblocked', () => {
      this.isBlocked = false;
    });
    this.isBlocked = false;
    this.#channel = channel;
  }
}

/**
 * A quorum queue: it is on disk before the confirm, and it counts deliveries. Its limit is a
 * property that never changes, so a queue that exists keeps its own.
 */
async function declare(model: ChannelModel, limit: number): Promise<void> {
  const channel = await model.createChannel();
  channel.on('error', () => {}); // Then the channel is closed, and nothing else.
  await channel.assertExchange(deadExchange, 'direct', { durable: true });
  const quorum = { durable: true, arguments: { 'x-queue-type': 'quorum' } };
  await channel.assertQueue(deadLetters, quorum);
  await channel.bindQueue(deadLetters, deadExchange, queue);
  const bounds = {
    'x-queue-type': 'quorum',
    'x-delivery-limit': moreDeliveries,
    'x-dead-letter-exchange': deadExchange,
    'x-dead-letter-routing-key': queue,
    'x-max-length': limit,
    'x-overflow': 'reject-publish',
  };
  await channel.assertQueue(queue, { durable: true, arguments: bounds }).then(
    () => channel.close(),
    (error: Error & { code?: number }) => {
      if (error.code !== 406) throw error;
    },
  );
}

/** @throws when no answer came: RabbitMQ may have the order. */
function confirmed(channel: ConfirmChannel, order: Order, withinMs: number): Promise<boolean> {
  const message = { persistent: true, mandatory: true, messageId: order.id };
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`RabbitMQ did not confirm within ${withinMs} ms`));
    const timer = setTimeout(late, withinMs);
    channel.publish('', queue, Buffer.from(asText(order)), message, (error: unknown) => {
      clearTimeout(timer);
      if (error instanceof Error && error.message !== 'message nacked') reject(error);
      else resolve(error === null || error === undefined);
    });
  });
}

interface Message extends Entry {
  readonly message: ConsumeMessage;
  /** It can be acknowledged there only; when it is closed, RabbitMQ delivers again. */
  readonly channel: Consuming;
}
interface Consuming {
  readonly channel: Awaited<ReturnType<ChannelModel['createChannel']>>;
  isOpen: boolean;
}

function messageSource(rabbitmq: Rabbitmq, { batchSize, limit }: RabbitmqOptions): Source<Message> {
  let arrived: Message[] = [];
  let consuming: Consuming | undefined;
  const arrival = new WakeUp();

  async function open(model: ChannelModel): Promise<void> {
    await declare(model, limit);
    const channel = await model.createChannel();
    const own: Consuming = { channel, isOpen: true };
    channel.on('error', () => {});
    channel.on('close', () => {
      own.isOpen = false;
      arrived = arrived.filter((each) => each.channel !== own);
    });
    await channel.prefetch(batchSize);
    consuming = own;
    await channel.consume(queue, (message) => {
      if (message) arrived.push(asMessage(message, own));
      arrival.wake();
    });
  }
  const opening = rabbitmq.use(open);

  return {
    async take(most, inHand) {
      await opening;
      if (arrived.length === 0 && inHand.length === 0) await arrival.wait(waitMs);
      return arrived.splice(0, most);
    },
    async settle(done) {
      for (const { message, channel: own, read } of done)
        if (own.isOpen && !('cause' in read)) own.channel.ack(message);
    },
    async moveToDead({ message, channel: own }) {
      if (own.isOpen) own.channel.nack(message, false, false);
    },
    /** RabbitMQ gets back what is not acknowledged. */
    async handBack() {
      rabbitmq.leave(open);
      await consuming?.channel.close();
    },
  };
}

function asMessage(message: ConsumeMessage, channel: Consuming): Message {
  const delivered = Number(message.properties.headers?.['x-delivery-count'] ?? 0);
  return { ...asEntry(message.content.toString()), message, channel, delivered };
}
