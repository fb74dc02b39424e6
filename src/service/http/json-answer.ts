/** A JSON answer with headers of its own. */
import type { TypedResponse } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { HeaderTexts } from './headers.ts';

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
