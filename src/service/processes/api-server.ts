/** The HTTP server of one instance: it listens once the service is ready, and drains at a stop. */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { getRequestListener, RequestError } from '@hono/node-server';
import { answersWith, type HeaderTexts, isBusy } from '../http/headers.ts';
import { newRequestId } from '../http/ids.ts';
import type { App } from '../http/openapi.ts';
import { describeProblem, type ProblemCode } from '../http/problems.ts';

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

const quietMs = 0.5;
const turnsMax = 50;

/**
 * Until a turn of the event loop accepted no connection, and did next to nothing else. Linux resets
 * a connection that waits to be accepted when its port is closed, and its purchase may have been
 * sent already. Node accepts one connection in a turn.
 */
async function quietTurn(server: Server): Promise<void> {
  let isQuiet = false;
  server.on('connection', () => {
    isQuiet = false;
  });
  for (let turns = 0; turns < turnsMax && !isQuiet; turns++) {
    await turn(); // The rest of a turn that has begun.
    isQuiet = true;
    const fromMs = performance.now();
    await turn();
    if (performance.now() - fromMs > quietMs) isQuiet = false;
  }
}

/** nginx uses nearly each of its connections in this time, and an answer ends it. */
const lastAnswersMs = 1_000;

/**
 * Accepts no new connections, and each answer ends its connection: its client sends nothing more on
 * it. What is still idle after a second is closed, and what is left after `withinMs`.
 */
export async function drain(server: Server, withinMs: number): Promise<void> {
  await quietTurn(server);
  const closed = new Promise<void>((resolve) => {
    // Not that of the HTTP server: it closes idle connections too, and a request may wait in one.
    NetServer.prototype.close.call(server, () => resolve());
  });
  server.prependListener('request', (_, response) => {
    response.shouldKeepAlive = false;
  });
  const timer = new AbortController();
  const rest = (ms: number) => sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
  const firstMs = Math.min(lastAnswersMs, withinMs / 2);
  await Promise.race([closed, rest(firstMs)]);
  // A turn of the event loop reads what has arrived, and then runs what is immediate.
  const closing = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50);
  await Promise.race([closed, rest(withinMs - firstMs)]);
  timer.abort();
  clearInterval(closing);
  server.closeAllConnections();
  await closed;
}

/** Node's error for a connection whose bytes are no request. */
interface UnreadableError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

const codes: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body-too-large',
  HPE_INVALID_VERSION: 'unknown-http-version',
  HPE_PAUSED_H2_UPGRADE: 'unknown-http-version',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
};
const beginsWithMethod = /^[A-Z]{1,32} /;

function codeOf({ code = '', rawPacket }: UnreadableError): ProblemCode {
  if (code === 'HPE_INVALID_METHOD' && beginsWithMethod.test(String(rawPacket)))
    return 'not-implemented';
  return codes[code] ?? 'invalid-request';
}

/**
 * Requests that the application never sees, because Node or its adapter cannot read them: their
 * answers are problems too, with a request id and the headers of every answer. So is CONNECT. An
 * expectation that nobody knows is ignored.
 */
function answerUnreadable(server: Server, headers: HeaderTexts): void {
  server.on('clientError', (error: UnreadableError, socket) => {
    // The client would take it for the answer to an earlier request, which may be a purchase.
    if (isBusy(socket) || !socket.writable) socket.destroy();
    else close(socket, rawProblem(codeOf(error), headers));
  });
  server.on('connect', (_, socket) =>
    close(
      socket,
      rawProblem('method-not-allowed', { ...headers, Allow: 'GET, HEAD, PATCH, POST' }),
    ),
  );
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

const close = (socket: Duplex, answer: string) => socket.end(answer, () => socket.destroy());

/** The answer to a request that the adapter refuses: without a host, or with a malformed URL. */
function problemResponse(error: unknown): Response {
  const code = error instanceof RequestError ? 'invalid-request' : 'internal-error';
  const { status, headers, body } = describeProblem(code);
  return Response.json(body, { status, headers });
}

function rawProblem(code: ProblemCode, common: HeaderTexts): string {
  const { status, headers, body } = describeProblem(code);
  const text = JSON.stringify(body);
  const lines = Object.entries({
    ...common,
    ...headers,
    'X-Request-Id': newRequestId(),
    'Content-Length': String(Buffer.byteLength(text)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`;
}
