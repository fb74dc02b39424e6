/** The HTTP server of one instance: it listens once the service is ready, and drains at a stop. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { answersWith, type HeaderTexts } from '../http/headers.ts';
import type { App } from '../http/openapi.ts';
import { answerUnreadable, problemResponse } from '../http/unreadable-requests.ts';

/** A port, or the path of a Unix socket. */
export type Address =
  | {
      readonly host: string;
      readonly port: number;
      /** True when the cluster's primary accepts the connections and distributes them. */
      readonly shared: boolean;
    }
  | { readonly path: string };

/** As many as nginx has; a Unix socket refuses more at once, where a port lets them wait. */
const backlog = 4_096;

/**
 * Longer than nginx keeps an idle connection (60 s). With a shorter time, nginx could send a
 * purchase on a connection that Node is closing.
 */
const keepAliveMs = 75_000;

/** @param headers of every answer */
export async function listen(app: App, address: Address, headers: HeaderTexts): Promise<Server> {
  // The adapter refuses a request without a host, and its refusal is a problem; Node's is not.
  const options = { requireHostHeader: false, ServerResponse: answersWith(headers) };
  const errorHandler = problemResponse;
  const listener = getRequestListener(app.fetch, { errorHandler });
  // The adapter sets timers to throw away a body that nobody read. A purchase has none.
  const withoutBody = getRequestListener(app.fetch, { errorHandler, autoCleanupIncoming: false });
  const server = createServer(options, (request, response) =>
    hasBody(request) ? listener(request, response) : withoutBody(request, response),
  );
  answerUnreadable(server, headers);
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 1_000;
  if ('path' in address) server.listen(freed(address.path));
  else server.listen({ ...address, backlog, exclusive: !address.shared });
  await once(server, 'listening');
  return server;
}

/** A request has a body only if one of these headers says so (RFC 9112). */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;

/** A killed process leaves its socket behind. nginx may run as another user. */
function freed(path: string) {
  rmSync(path, { force: true });
  return { path, backlog, exclusive: true, writableAll: true };
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
