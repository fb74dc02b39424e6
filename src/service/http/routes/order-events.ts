/**
 * The states of one order as server-sent events, for a user who waits. The stream ends after the
 * final state; one that ends before that is opened again.
 */
import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import { FinalStates, findOrder, type OrderState } from '../../orders/find-order.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { problem, problemAnswers, roleProblems } from '../problems.ts';
import type { Service } from '../service.ts';
import { type Claims, requireRole, type WithClaims } from '../tokens.ts';

/** Shorter than any proxy waits: nginx waits 30 s. */
const heartbeatMs = 10_000;
const reconnectMs = 2_000;

const Events = z.string().openapi({
  description:
    'Each event `status` has the order as JSON, as GET /orders/{id} answers it, and its status as ' +
    'id. A comment comes every ten seconds. The last event is confirmed or failed.',
  example:
    'event: status\ndata: {"id":"7","voucherId":"9","status":"confirmed"}\nid: confirmed\n\n',
});

const eventsRoute = (user: MiddlewareHandler<WithClaims>) =>
  createRoute({
    method: 'get',
    path: '/orders/{id}/events',
    operationId: 'watchOrder',
    summary: 'The states of an order, as they come',
    description:
      'For the user of the order: server-sent events, the first one at once. A stream that ends ' +
      'without `confirmed` or `failed` is opened again.',
    tags: ['orders'],
    security: [{ token: [] }],
    middleware: user,
    request: { params: z.object({ id: Id }) },
    responses: {
      200: {
        description: 'The states of the order, until the final one',
        content: { 'text/event-stream': { schema: Events } },
      },
      204: { description: 'The Last-Event-ID is the final state: there is nothing to wait for' },
      ...problemAnswers(...roleProblems, 'unknown-order', 'not-ready', 'too-many-streams'),
    },
  });

export function orderEventRoutes({ connections, log, isOpen, readToken }: Service): App {
  const streams = new OrderStreams(connections.config.ORDER_STREAMS);
  const finals = new FinalStates(connections, log, isOpen);

  return routes().openapi(eventsRoute(requireRole('user', readToken)), async (c) => {
    const claims = c.get('claims');
    const order = await findOrder(connections, c.req.valid('param').id);
    if (order?.userId !== claims.sub) return problem(c, 'unknown-order');
    // Without it, an EventSource would open the stream again and again.
    if (isFinal(order) && c.req.header('last-event-id') === order.status) return c.body(null, 204);
    if (!isOpen()) return problem(c, 'not-ready', 'This instance is stopping.');
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    if (isFinal(order)) return unbuffered(streamSSE(c, (stream) => tell(stream, order)));
    const open = streams.open(claims);
    if (!open) return problem(c, 'too-many-streams', 'GET /orders/{id} has the state too.');
    return unbuffered(streamSSE(c, (stream) => follow(stream, order, open, finals)));
  });
}

const isFinal = ({ status }: OrderState): boolean => status !== 'queued';

async function follow(
  stream: SSEStreamingApi,
  order: OrderState,
  open: OpenStream,
  finals: FinalStates,
): Promise<void> {
  stream.onAbort(open.end);
  const beat = setInterval(() => void stream.write(': the order is queued\n\n'), heartbeatMs);
  try {
    await tell(stream, order);
    const final = await finals.of(order, open.signal);
    // After Redis was emptied, a worker id may be given out twice, and so an order id.
    const isOther = final?.status === 'confirmed' && final.userId !== order.userId;
    // MySQL may have refused the voucher or the user of a failed order.
    if (final && !isOther) await tell(stream, { ...final, voucherId: order.voucherId });
  } finally {
    clearInterval(beat);
    open.end();
  }
}

const tell = (stream: SSEStreamingApi, { userId: _, ...view }: OrderState): Promise<void> =>
  stream.writeSSE({
    event: 'status',
    data: JSON.stringify(view),
    id: view.status,
    retry: reconnectMs,
  });

/** nginx must pass each event on at once; and `no-store` is already a header of every answer. */
function unbuffered(answer: Response): Response {
  answer.headers.set('X-Accel-Buffering', 'no');
  answer.headers.delete('Cache-Control');
  return answer;
}

/** One user cannot take all places. */
const perUserMax = 5;
/** Later the client opens it again, on an instance that may be less busy. */
const mostMs = 600_000;

interface OpenStream {
  /** Aborts when the stream must end: its token or its time is over. */
  readonly signal: AbortSignal;
  /** The client has left, or was told all: its place is free. */
  end(): void;
}

/**
 * The open streams of this instance, of which there is a limit: each takes a connection, and two of
 * nginx, that a purchase may need.
 */
class OrderStreams {
  readonly #limit: number;
  readonly #open = new Set<{ readonly userId: string }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Null when there is no place. */
  open({ sub: userId, exp }: Claims): OpenStream | null {
    const own = [...this.#open].filter((stream) => stream.userId === userId).length;
    if (this.#open.size >= this.#limit || own >= perUserMax) return null;
    const over = new AbortController();
    const timer = setTimeout(() => end(), Math.min(mostMs, exp * 1_000 - Date.now()));
    const end = () => {
      clearTimeout(timer);
      this.#open.delete(stream);
      over.abort();
    };
    const stream = { userId };
    this.#open.add(stream);
    return { signal: over.signal, end };
  }
}
