/** The headers of every answer. */
import {
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TypedResponse } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isRequestId, newRequestId } from './ids.ts';

export type HeaderTexts = Readonly<Record<string, string>>;

export const commonHeaders = (instance: string): HeaderTexts => ({
  'X-Instance': instance,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/** The sockets on which a request waits for its answer. */
const busy = new WeakSet<Duplex>();
export const isBusy = (socket: Duplex): boolean => busy.has(socket);

/**
 * Node's answer, with these headers and the name of its request. Headers that the application sets
 * are copied several times on their way here. A flat list costs less than an object.
 */
export function answersWith(headers: HeaderTexts): typeof ServerResponse {
  const common = Object.entries(headers).flat();
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    readonly requestId = nameOf(this.req);

    override writeHead(status: number, ...more: unknown[]): this {
      const own = more.at(-1) as OutgoingHttpHeaders | undefined;
      const all: OutgoingHttpHeader[] = [...common, 'X-Request-Id', this.requestId];
      for (const name in own) all.push(name, own[name] ?? '');
      return super.writeHead(status, all);
    }

    override assignSocket(socket: Socket): void {
      busy.add(socket);
      super.assignSocket(socket);
    }

    override detachSocket(socket: Socket): void {
      busy.delete(socket);
      super.detachSocket(socket);
    }
  };
}

/** The client may name its request. */
function nameOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && isRequestId(given) ? given : newRequestId();
}

/** Undefined for a request that did not come through Node's server. */
export const requestIdOf = ({ env }: { readonly env: unknown }): string | undefined =>
  (env as { outgoing?: { requestId?: string } } | undefined)?.outgoing?.requestId;

/** As `c.json`, which makes a `Headers` of two or more headers: that costs more than the rest. */
export const jsonWith = <Body, Status extends ContentfulStatusCode>(
  body: Body,
  status: Status,
  headers: HeaderTexts,
) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  }) as Response & TypedResponse<Body, Status, 'json'>;
