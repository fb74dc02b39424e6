/**
 * Traces, for a collector of OpenTelemetry. A purchase is one trace, from its request to its row:
 * the API instance and the order worker each make a span of it. The ids are made from the purchase
 * itself, so every process knows them, and the stream of orders carries nothing more. Off, and then
 * free, unless TRACES_URL is set.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Order, Outcome } from '../domain.ts';
import { type Span, type SpanSender, spanSender } from './span-sender.ts';

const spanKinds = { server: 2, consumer: 5 } as const;
const failed = 2;

interface Tracing {
  readonly sender: SpanSender;
  /** Of all purchases, from 0 to 1. */
  readonly ratio: number;
}
let tracing: Tracing | undefined;

/** @returns what sends the last spans, before the process ends. */
export function openTraces(
  { TRACES_URL, TRACES_RATIO: ratio }: Pick<Config, 'TRACES_URL' | 'TRACES_RATIO'>,
  instance: string,
  log: Logger,
): () => Promise<void> {
  if (TRACES_URL === '') return async () => {};
  const sender = spanSender(TRACES_URL, instance, log);
  tracing = { sender, ratio };
  return sender.close;
}

/** @param begunAt of `performance.now()` */
export function tracePurchase(rung: string, order: Order, outcome: Outcome, begunAt: number): void {
  const ids = tracing && idsOf(order, tracing.ratio);
  if (!tracing || !ids) return;
  const { kind } = outcome;
  const orderId = outcome.orderId ?? order.id;
  const isRepeated = orderId !== order.id;
  tracing.sender.add({
    ...(isRepeated ? childOf(ids) : ids),
    ...{ name: 'purchase', kind: spanKinds.server },
    ...timesFrom(begunAt),
    attributes: {
      ...namesOf({ ...order, id: orderId }),
      'lockstep.rung': rung,
      'lockstep.outcome': outcome.kind === 'refused' ? outcome.reason : kind,
    },
    ...(kind === 'unknown' && { status: { code: failed, message: String(outcome.cause) } }),
  });
}

/**
 * Of one batch of an order worker.
 * @param settled the ids of those that are in MySQL or dead-lettered
 * @param begunAt of `performance.now()`
 */
export function traceRecording(
  orders: readonly Order[],
  settled: ReadonlySet<string>,
  begunAt: number,
): void {
  if (!tracing) return;
  for (const order of orders) {
    const ids = idsOf(order, tracing.ratio);
    if (!ids) continue;
    const isSettled = settled.has(order.id);
    tracing.sender.add({
      ...childOf(ids),
      ...{ name: 'record order', kind: spanKinds.consumer },
      ...timesFrom(begunAt),
      attributes: { ...namesOf(order), 'lockstep.batch': String(orders.length) },
      ...(!isSettled && { status: { code: failed, message: 'It is delivered again.' } }),
    });
  }
}

/**
 * The trace of a purchase that nginx named is found by that name; others by a digest. Undefined
 * when this purchase is not traced: every process decides the same.
 */
function idsOf({ voucherId, userId, requestId }: Order, ratio: number): SpanIds | undefined {
  const digest = createHash('sha256').update(`${voucherId}:${userId}:${requestId}`).digest('hex');
  if (Number.parseInt(digest.slice(0, 8), 16) >= ratio * 2 ** 32) return undefined;
  const isTraceId = /^(?!0{32})[0-9a-f]{32}$/.test(requestId);
  const traceId = isTraceId ? requestId : digest.slice(8, 40);
  return { traceId, spanId: digest.slice(40, 56) };
}

type SpanIds = Pick<Span, 'traceId' | 'spanId'>;

const childOf = ({ traceId, spanId }: SpanIds) => ({
  ...{ traceId, spanId: randomBytes(8).toString('hex'), parentSpanId: spanId },
});

const namesOf = ({ id, voucherId, requestId }: Order) => ({
  ...{ 'lockstep.order': id, 'lockstep.voucher': voucherId, 'lockstep.request': requestId },
});

function timesFrom(begunAt: number): Pick<Span, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  const at = (ms: number) =>
    String(BigInt(Math.round((performance.timeOrigin + ms) * 1_000)) * 1_000n);
  return { startTimeUnixNano: at(begunAt), endTimeUnixNano: at(performance.now()) };
}
