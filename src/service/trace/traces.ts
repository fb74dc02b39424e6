/**
 * Traces, for a collector of OpenTelemetry. A purchase is one trace, from its request to its row:
 * the API instance and the order worker each make a span of it. The ids are made from the purchase
 * and the secret of the service: every process knows them, the stream of orders carries nothing
 * more, and no client chooses one. The span of a purchase has a link to the trace of its caller.
 * Off, and then free, unless TRACES_URL is set.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Order, Outcome } from '../domain.ts';

const spanKinds = { server: 2, consumer: 5 } as const;
const failed = 2;

interface Tracing {
  readonly sender: ReturnType<typeof spanSender>;
  /** Of all purchases, from 0 to 1. */
  readonly ratio: number;
  readonly secret: string;
}
let tracing: Tracing | undefined;

type Settings = Pick<
  Config,
  'TRACES_URL' | 'TRACES_RATIO' | 'TOKEN_SECRET' | 'TOKEN_SECRET_BEFORE'
>;

/** @returns what sends the last spans, before the process ends. */
export function openTraces(
  { TRACES_URL, TRACES_RATIO: ratio, TOKEN_SECRET, TOKEN_SECRET_BEFORE }: Settings,
  instance: string,
  log: Logger,
): () => Promise<void> {
  if (TRACES_URL === '') return async () => {};
  const sender = spanSender(TRACES_URL, instance, log);
  // While the secret changes, every process has the one before.
  tracing = { sender, ratio, secret: TOKEN_SECRET_BEFORE || TOKEN_SECRET };
  return sender.close;
}

/**
 * @param begunAt of `performance.now()`
 * @param caller the `traceparent` of the request (W3C Trace Context)
 */
export function tracePurchase(
  rung: string,
  order: Order,
  outcome: Outcome,
  begunAt: number,
  caller?: string,
): void {
  if (!tracing) return;
  const traceId = traceOf(tracing, order);
  if (traceId === undefined) return;
  const { kind } = outcome;
  const orderId = kind === 'refused' ? order.id : outcome.orderId;
  const isRepeated = orderId !== order.id;
  tracing.sender.add({
    traceId,
    spanId: spanOf(tracing, order.id),
    ...(isRepeated && { parentSpanId: spanOf(tracing, orderId) }),
    name: 'purchase',
    kind: spanKinds.server,
    ...timesFrom(begunAt),
    links: linksTo(caller),
    attributes: {
      ...namesOf({ ...order, id: orderId }),
      'lockstep.rung': rung,
      'lockstep.outcome': kind === 'refused' ? outcome.reason : kind,
    },
    ...(kind === 'unknown' && { status: { code: failed, message: String(outcome.cause) } }),
  });
}

const traceparent =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}/;

function linksTo(caller = '') {
  const [, traceId, spanId] = traceparent.exec(caller) ?? [];
  return traceId && spanId ? [{ traceId, spanId }] : [];
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
  for (const order of orders) {
    const problem = settled.has(order.id) ? undefined : 'It is delivered again.';
    addSpan('record order', order, begunAt, problem);
  }
}

/** @param reason of the dead letter */
export const traceDeadLetter = (order: Order, reason: string): void =>
  addSpan('dead-letter order', order, performance.now(), reason);

/** Of an order worker, under the purchase of the order. */
function addSpan(name: string, order: Order, begunAt: number, problem?: string): void {
  if (!tracing) return;
  const traceId = traceOf(tracing, order);
  if (traceId === undefined) return;
  tracing.sender.add({
    traceId,
    spanId: randomBytes(8).toString('hex'),
    parentSpanId: spanOf(tracing, order.id),
    name,
    kind: spanKinds.consumer,
    ...timesFrom(begunAt),
    attributes: namesOf(order),
    ...(problem !== undefined && { status: { code: failed, message: problem } }),
  });
}

const digest = ({ secret }: Tracing, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex');

/** Undefined when this purchase is not traced: every process decides the same. */
function traceOf(of: Tracing, { voucherId, userId, requestId }: Order): string | undefined {
  const made = digest(of, `trace:${voucherId}:${userId}:${requestId}`);
  return Number.parseInt(made.slice(0, 8), 16) < of.ratio * 2 ** 32 ? made.slice(8, 40) : undefined;
}

/** Of the purchase that made this order id. */
const spanOf = (of: Tracing, orderId: string): string => digest(of, `span:${orderId}`).slice(0, 16);

const namesOf = ({ id, voucherId, requestId }: Order) => ({
  'lockstep.order': id,
  'lockstep.voucher': voucherId,
  'lockstep.request': requestId,
});

function timesFrom(begunAt: number): Pick<Span, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  const endMs = Date.now();
  const nanoseconds = (ms: number) => String(BigInt(Math.round(ms * 1_000)) * 1_000n);
  const startMs = endMs - (performance.now() - begunAt);
  return { startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(endMs) };
}

interface Span {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Spans of other traces. */
  readonly links?: readonly Pick<Span, 'traceId' | 'spanId'>[];
  readonly status?: { readonly code: number; readonly message: string };
}

const sendEveryMs = 1_000;
const answerWithinMs = 2_000;
const closeWithinMs = 1_000;
const waitingMax = 10_000;
const namesInMessageMax = 1_000;
const sayEveryMs = 60_000;
const tooMany = 'More spans came than could be sent.';

/**
 * Spans on their way to a collector, as JSON of the OpenTelemetry protocol over HTTP. They wait in
 * memory, and no purchase waits for them: while the collector is away, spans are dropped, and the
 * log says how many.
 * @param instance of this process, as in the log
 */
function spanSender(url: string, instance: string, log: Logger) {
  const waiting: Span[] = [];
  let dropped = 0;
  let problem = tooMany;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | undefined;

  async function send(spans: readonly Span[]): Promise<void> {
    try {
      const { ok, status } = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(asMessage(spans, instance)),
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.timeout(answerWithinMs),
      });
      if (!ok) throw new Error(`The collector answered ${status}.`);
    } catch (error) {
      dropped += spans.length;
      problem = String(error);
    }
  }

  /** At once, and then each minute. */
  function sayDropped(): void {
    if (dropped === 0 || performance.now() - saidAtMs < sayEveryMs) return;
    log.warn({ event: 'traces-not-sent', spans: dropped, error: problem });
    saidAtMs = performance.now();
    dropped = 0;
    problem = tooMany;
  }

  /** One message after the other: meanwhile, spans wait. */
  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      await send(waiting.splice(0, namesInMessageMax));
      sayDropped();
    }
  }

  function sendWaiting(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    return sending;
  }

  const timer = setInterval(() => void sendWaiting(), sendEveryMs).unref();
  return {
    add: (span: Span) => {
      if (waiting.length < waitingMax) waiting.push(span);
      else dropped += 1;
    },
    /** Sends what waits, for a second at most. */
    close: async () => {
      clearInterval(timer);
      await Promise.race([sendWaiting(), sleep(closeWithinMs, undefined, { ref: false })]);
      dropped += waiting.length;
      saidAtMs = Number.NEGATIVE_INFINITY;
      sayDropped();
    },
  };
}

const valuesOf = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }));

const asMessage = (spans: readonly Span[], instance: string) => ({
  resourceSpans: [
    {
      resource: {
        attributes: valuesOf({ 'service.name': 'lockstep', 'service.instance.id': instance }),
      },
      scopeSpans: [
        {
          scope: { name: 'lockstep' },
          spans: spans.map((span) => ({ ...span, attributes: valuesOf(span.attributes) })),
        },
      ],
    },
  ],
});
