/**
 * Spans on their way to a collector, as JSON of the OpenTelemetry protocol over HTTP. They wait in
 * memory, and no purchase waits for them: while the collector is away, spans are dropped, and the
 * log says how many.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

export interface Span {
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

export interface SpanSender {
  add(span: Span): void;
  /** Sends what waits, for a second at most. */
  close(): Promise<void>;
}

const sendEveryMs = 1_000;
const answerWithinMs = 2_000;
const closeWithinMs = 1_000;
const waitingMax = 10_000;
const namesInMessageMax = 1_000;
const sayEveryMs = 60_000;
const tooMany = 'More spans came than could be sent.';

/** @param instance of this process, as in the log */
export function spanSender(url: string, instance: string, log: Logger): SpanSender {
  const waiting: Span[] = [];
  let dropped = 0;
  let problem = tooMany;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> | undefined;

  async function send(spans: readonly Span[]): Promise<void> {
    try {
      const { ok, status } = await fetch(url, {
        ...{ method: 'POST', body: JSON.stringify(asMessage(spans, instance)) },
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
    add: (span) => {
      if (waiting.length < waitingMax) waiting.push(span);
      else dropped += 1;
    },
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
