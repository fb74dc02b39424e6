/** The HTTP server of one instance: opens when it is ready, drains when it is told to stop. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdaptorServer } from '@hono/node-server';
import type { App } from '../http/openapi.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Whether the cluster's primary takes the connections and shares them out. */
  readonly shared: boolean;
}

/** Longer than nginx keeps an idle connection (60 s): else it would send a purchase into one that is being closed. */
const keepAliveMs = 75_000;

export async function listen(app: App, { host, port, shared }: Address): Promise<Server> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 1_000;
  server.listen({ host, port, exclusive: !shared });
  await once(server, 'listening');
  return server;
}

/** No new connections; idle ones close now, the others after their request, the last of them after `withinMs`. */
export async function drain(server: Server, withinMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const over = new AbortController();
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  await Promise.race([closed, sleep(withinMs, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
  clearInterval(idle);
  server.closeAllConnections();
  await closed;
}
