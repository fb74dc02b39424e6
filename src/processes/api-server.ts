/** The HTTP server of one instance: it listens once the service is ready, and drains at a stop. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import type { App } from '../http/openapi.ts';
import { answerUnreadable, problemResponse } from '../http/unreadable-requests.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** True when the cluster's primary accepts the connections and distributes them. */
  readonly shared: boolean;
}

/**
 * Longer than nginx keeps an idle connection (60 s). With a shorter time, nginx could send a
 * purchase on a connection that Node is closing.
 */
const keepAliveMs = 75_000;

export async function listen(
  app: App,
  { host, port, shared }: Address,
  instance: string,
): Promise<Server> {
  const errorHandler = (error: unknown) => problemResponse(error, instance);
  // The adapter refuses a request without a host, and its refusal is a problem; Node's is not.
  const options = { requireHostHeader: false };
  const server = createServer(options, getRequestListener(app.fetch, { errorHandler }));
  answerUnreadable(server, instance);
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 1_000;
  server.listen({ host, port, exclusive: !shared });
  await once(server, 'listening');
  return server;
}

/**
 * Accepts no new connections. Idle connections close now, the others after their request, and any
 * that are left close after `withinMs`.
 */
export async function drain(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = new AbortController();
  const closing = setInterval(() => server.closeIdleConnections(), 50);
  await Promise.race([
    closed,
    sleep(withinMs, undefined, { signal: timer.signal }).catch(() => {}),
  ]);
  timer.abort();
  clearInterval(closing);
  server.closeAllConnections();
  await closed;
}
