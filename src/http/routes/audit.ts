/** The audit of a voucher, for operators, and for load tests that check their result. */
import { createRoute, z } from '@hono/zod-openapi';
import { audit } from '../../audit/audit.ts';
import { collectFacts } from '../../audit/collect.ts';
import { confirmed, usersWithSeveralOrders } from '../../audit/facts.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers } from '../problems.ts';
import type { Service } from '../service.ts';
import { requireRole } from '../tokens.ts';

const AuditView = z
  .object({
    verdict: z.enum(['held', 'violated', 'unknown']),
    initialStock: z.int(),
    stock: z.int(),
    orders: z.int(),
    usersWithTwoOrders: z.int(),
    findings: z.array(
      z.object({
        check: z.string(),
        verdict: z.string(),
        count: z.int(),
        first: z.string().optional(),
      }),
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
      200: jsonAnswer(AuditView, 'The audit of MySQL and Redis'),
      ...problemAnswers(
        'invalid-request',
        'unauthenticated',
        'forbidden',
        'unknown-voucher',
        'not-ready',
      ),
    },
  });

  return routes().openapi(check, async (c) => {
    const { id } = c.req.valid('param');
    const facts = await collectFacts(connections, id);
    if (!facts) return problem(c, 'unknown-voucher');
    const { verdict, findings } = audit(facts);
    const { initialStock, mysql } = facts;
    const counts = {
      orders: confirmed(facts).length,
      usersWithTwoOrders: usersWithSeveralOrders(facts),
    };
    return c.json(
      { verdict, initialStock, stock: mysql.stock, ...counts, findings: [...findings] },
      200,
    );
  });
}
