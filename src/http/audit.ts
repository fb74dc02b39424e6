/** The audit of a voucher, for operators and for load tests that ask for the truth afterwards. */
import { createRoute, z } from '@hono/zod-openapi';
import { audit } from '../audit/audit.ts';
import { collectFacts } from '../audit/collect.ts';
import { confirmed, usersWithSeveralOrders } from '../audit/facts.ts';
import { type App, routes } from './app.ts';
import { Id } from './ids.ts';
import { jsonAnswer, problem, problemAnswers } from './problems.ts';
import type { Service } from './service.ts';
import { requireRole } from './tokens.ts';

const AuditView = z
  .object({
    verdict: z.enum(['held', 'violated', 'unknown']),
    initialStock: z.int(),
    stock: z.int(),
    orders: z.int(),
    usersWithTwoOrders: z.int(),
    findings: z.array(
      z.object({ check: z.string(), verdict: z.string(), count: z.int(), first: z.string().optional() }),
    ),
  })
  .openapi('Audit');

export function auditRoutes({ connections }: Service): App {
  const check = createRoute({
    method: 'get',
    path: '/vouchers/{id}/audit',
    security: [{ token: [] }],
    middleware: requireRole('operator', connections.config.TOKEN_SECRET),
    request: { params: z.object({ id: Id }) },
    responses: {
      200: jsonAnswer(AuditView, 'What MySQL and Redis hold, checked'),
      ...problemAnswers('invalid-request', 'unauthenticated', 'forbidden', 'unknown-voucher'),
    },
  });

  return routes().openapi(check, async (c) => {
    const { id } = c.req.valid('param');
    const facts = await collectFacts(connections.mysql(), connections.redis('admin'), id);
    if (!facts) return problem(c, 'unknown-voucher');
    const { verdict, findings } = audit(facts);
    const { initialStock, mysql } = facts;
    const counts = { orders: confirmed(facts).length, usersWithTwoOrders: usersWithSeveralOrders(facts) };
    return c.json({ verdict, initialStock, stock: mysql.stock, ...counts, findings: [...findings] }, 200);
  });
}
