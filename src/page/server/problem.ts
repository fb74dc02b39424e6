/** Errors over HTTP: what is wrong with a command, as a code and a sentence. */

import type { Context } from 'hono';
import { z } from 'zod';
import { isLabError } from '../../lab/errors.ts';
import { LockstepError } from '../../service/errors.ts';

type Status = 400 | 403 | 409 | 429 | 500;

function statusOf(error: LockstepError): Status {
  if (isLabError(error, 'INSTRUCTORS_ALONE') || isLabError(error, 'WRONG_CODE')) return 403;
  return isLabError(error, 'TOO_MANY_CODES') ? 429 : 409;
}

export function answerTo(error: Error, c: Context): Response {
  const problem = (status: Status, code: string, title: string) =>
    c.json({ code, title }, status, { 'content-type': 'application/problem+json' });
  if (error instanceof z.ZodError || error instanceof SyntaxError)
    return problem(400, 'invalid-request', 'The request is not valid');
  if (error instanceof LockstepError) return problem(statusOf(error), error.code, error.message);
  console.error(error);
  return problem(500, 'internal-error', 'The page failed; its log says why');
}
