/** A group of routes, with its part of the OpenAPI document. */
import { OpenAPIHono } from '@hono/zod-openapi';
import { problem } from './problems.ts';
import type { WithClaims } from './tokens.ts';

export type App = OpenAPIHono<WithClaims>;

/** Input that does not match its schema gets the answer 400, and changes nothing. */
export const routes = (): App =>
  new OpenAPIHono<WithClaims>({
    defaultHook: (result, c) => {
      if (result.success) return;
      const details = result.error.issues.map(
        ({ path, message }) => `${path.join('.') || 'body'}: ${message}`,
      );
      return problem(c, 'invalid-request', details.join('; '));
    },
  });
