/** The headers of every answer. */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { newRequestId } from './request-ids.ts';

export type HeaderTexts = Readonly<Record<string, string>>;

export const commonHeaders = (instance: string): HeaderTexts => ({
  'X-Instance': instance,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});

/**
 * Node's answer, with these headers and the name of its request. Headers that the application sets
 * are copied several times on their way here.
 */
export const answersWith = (headers: HeaderTexts): typeof ServerResponse =>
  class<Request extends IncomingMessage> extends ServerResponse<Request> {
    readonly requestId = nameOf(this.req);

    override writeHead(status: number, ...more: unknown[]): this {
      const own = more.at(-1) as OutgoingHttpHeaders | undefined;
      return super.writeHead(status, { ...headers, 'X-Request-Id': this.requestId, ...own });
    }
  };

/** The client may name its request. */
function nameOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w\-=]{1,255}$/.test(given) ? given : newRequestId();
}

/** Undefined for a request that did not come through Node's server. */
export const requestIdOf = ({ env }: { readonly env: unknown }): string | undefined =>
  (env as { outgoing?: { requestId?: string } } | undefined)?.outgoing?.requestId;
