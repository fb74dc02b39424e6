/**
 * Requests that the application never sees, because Node or its adapter cannot read them. Their
 * answers are problems too, with a request id and the headers of every answer.
 */
import { type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { type HeaderTexts, isBusy } from './headers.ts';
import { describeProblem, type ProblemCode } from './problems.ts';
import { newRequestId } from './request-ids.ts';

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

/** Answers what Node cannot read, and CONNECT. An expectation that nobody knows is ignored. */
export function answerUnreadable(server: Server, headers: HeaderTexts): void {
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
export function problemResponse(error: unknown): Response {
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
