/**
 * The log-in of the course, in the lab only: a phone number asks for a code, and the code gets a
 * token. The course sends it by SMS; here the answer has it. A deployment has an issuer of tokens.
 */
import { randomInt } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import { type App, routes } from '../../service/http/openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../../service/http/problems.ts';
import type { Service } from '../../service/http/service.ts';
import { signToken } from '../../service/http/tokens.ts';
import { smallBody } from '../../service/http/voucher-schemas.ts';

/** As the course checks it. It is the id of the user, too. */
const Phone = z.string().regex(/^1[3-9]\d{9}$/, 'must be a mobile number of 11 digits');
const Code = z.string().regex(/^\d{6}$/, 'must have six digits');
const LogIn = z.strictObject({ phone: Phone, code: Code });
const codeSeconds = 120;
const keyOf = (phone: string): string => `login:code:${phone}`;

const route = <Body extends z.ZodType>(
  path: string,
  operationId: string,
  summary: string,
  body: Body,
) => ({
  ...{ method: 'post' as const, path, operationId, summary, tags: ['lab'], security: [] },
  middleware: smallBody,
  request: { body: { required: true, content: { 'application/json': { schema: body } } } },
});

const sendCode = createRoute({
  ...route('/codes', 'sendCode', 'A code for a phone number', z.strictObject({ phone: Phone })),
  description: 'It is valid for two minutes, and for one log-in. In the lab the answer has it.',
  responses: {
    201: jsonAnswer(z.object({ code: Code }), 'The code'),
    ...problemAnswers('invalid-request', 'not-ready'),
  },
});
const logIn = createRoute({
  ...route('/sessions', 'logIn', 'A token for a code', LogIn),
  description: 'The user id is the phone number. A wrong code ends the right one, too.',
  responses: {
    201: jsonAnswer(z.object({ token: z.string(), userId: z.string() }), 'The token of the user'),
    ...problemAnswers('invalid-request', 'unauthenticated', 'not-ready'),
  },
});

export function sessionRoutes({ connections }: Service): App {
  const { TOKEN_SECRET } = connections.config;
  return routes()
    .openapi(sendCode, async (c) => {
      const code = String(randomInt(1_000_000)).padStart(6, '0');
      const { phone } = c.req.valid('json');
      await connections.labRedis().set(keyOf(phone), code, 'EX', codeSeconds);
      return c.json({ code }, 201);
    })
    .openapi(logIn, async (c) => {
      const { phone, code } = c.req.valid('json');
      const sent = await connections.labRedis().getdel(keyOf(phone));
      if (sent !== code) return problem(c, 'unauthenticated', 'The code is wrong, used or over.');
      return c.json({ token: await signToken(TOKEN_SECRET, phone, 'user'), userId: phone }, 201);
    });
}
