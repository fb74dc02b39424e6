/**
 * Every HTTP error: application/problem+json (RFC 9457), with one row for each code. Clients match
 * on `code`.
 */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { RefusalReason } from '../domain.ts';

interface Row {
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly retryAfterSeconds?: number;
}

/** It may be sent again at once: nothing is wrong with the request. */
const again = { status: 503, retryAfterSeconds: 1 } as const;

const rows = {
  'invalid-request': { status: 400, title: 'The request is not valid' },
  unauthenticated: { status: 401, title: 'A valid bearer token is required' },
  forbidden: { status: 403, title: 'The role of this token does not allow this request' },
  'not-started': { status: 403, title: 'The sale has not started' },
  'pass-required': {
    status: 403,
    title: 'A pass of the waiting room is required; this request was not tried',
  },
  'not-found': { status: 404, title: 'This path does not exist' },
  'method-not-allowed': { status: 405, title: 'This path has no such method; see Allow' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'unknown-voucher': { status: 404, title: 'This voucher does not exist' },
  'no-waiting-room': { status: 404, title: 'This voucher has no waiting room; buy it at once' },
  'unknown-order': { status: 404, title: 'This user has no order with this id' },
  'sold-out': { status: 409, title: 'The voucher is sold out' },
  'already-ordered': { status: 409, title: 'This user already has an order' },
  conflict: {
    status: 409,
    title: 'Another purchase changed the stock first; this request sold nothing, try again',
    retryAfterSeconds: 1,
  },
  'sale-paused': {
    status: 409,
    title: 'The sale is paused; this request sold nothing',
    retryAfterSeconds: 5,
  },
  'stock-below-sold': { status: 409, title: 'More is sold than this stock' },
  'stores-differ': {
    status: 409,
    title: 'MySQL has lost changes that Redis has; this request changed nothing',
  },
  ended: { status: 410, title: 'The sale has ended' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be application/json' },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests; this one was not tried',
    retryAfterSeconds: 1,
  },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'not-implemented': { status: 501, title: 'The method or transfer coding is not known' },
  'unknown-http-version': { status: 505, title: 'The version must be HTTP/1.0 or HTTP/1.1' },
  'internal-error': { status: 500, title: 'The service failed' },
  busy: { ...again, title: 'Another request holds the lock; this request sold nothing' },
  'database-busy': { ...again, title: 'The database is busy; this request changed nothing' },
  'lease-lost': {
    ...again,
    title: 'The lease of the lock was lost before the commit; this request sold nothing',
  },
  'stale-fence': {
    ...again,
    title: 'A newer request was granted the lock before the commit; this request sold nothing',
  },
  'lock-service-unavailable': {
    status: 503,
    title: 'The lock service did not answer in time; this request sold nothing',
    retryAfterSeconds: 2,
  },
  'queue-full': { ...again, title: 'The queue of orders is full; this request sold nothing' },
  overloaded: { ...again, title: 'Too many purchases are in progress; this one was not tried' },
  'not-ready': {
    status: 503,
    title: 'The sale is not ready; this request sold nothing',
    retryAfterSeconds: 2,
  },
  'too-many-streams': {
    status: 503,
    title: 'Too many streams are open',
    retryAfterSeconds: 5,
  },
  'outcome-unknown': { ...again, title: 'The result of this request is unknown' },
} as const satisfies Record<RefusalReason, Row> & Record<string, Row>;

export type ProblemCode = keyof typeof rows;

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    code: z.enum(Object.keys(rows) as [ProblemCode, ...ProblemCode[]]),
    detail: z.string().optional(),
    orderId: z.string().optional(),
  })
  .openapi('Problem');

type StatusOf<Code extends ProblemCode> = (typeof rows)[Code]['status'];

/** A route that returns it must list the code in its `problemAnswers`, or it does not compile. */
export function problem<Code extends ProblemCode>(
  c: Context,
  code: Code,
  detail?: string,
  orderId?: string,
) {
  const { status, headers, body } = describeProblem(code);
  const more = { ...(detail && { detail }), ...(orderId && { orderId }) };
  return c.json({ ...body, ...more }, status as StatusOf<Code>, headers);
}

/** The parts of a problem, also for an answer that no route gives. */
export function describeProblem(code: ProblemCode) {
  const { status, title, retryAfterSeconds }: Row = rows[code];
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  };
  const body: z.output<typeof Problem> = { type: `urn:lockstep:${code}`, title, status, code };
  return { status, headers, body };
}

/** The answers of every route that needs a token of one role, and checks its input. */
export const roleProblems = ['invalid-request', 'unauthenticated', 'forbidden'] as const;

type Answer = {
  description: string;
  content: { 'application/problem+json': { schema: typeof Problem } };
};

/** A route's error answers, for the OpenAPI document. Every route may also fail. */
export function problemAnswers<Code extends ProblemCode>(...codes: Code[]) {
  const answers: Record<number, Answer> = {};
  const all: ProblemCode[] = [...codes, 'internal-error'];
  for (const code of all) {
    const { status } = rows[code];
    const sameStatus = all.filter((other) => rows[other].status === status).join(', ');
    answers[status] = {
      description: sameStatus,
      content: { 'application/problem+json': { schema: Problem } },
    };
  }
  return answers as { [Status in StatusOf<Code>]: Answer };
}

/** A route's JSON answer, for the OpenAPI document. */
export const jsonAnswer = <Schema>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});
