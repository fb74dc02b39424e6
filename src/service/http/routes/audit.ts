/** The audit of a voucher, for operators, and for load tests that check their result. */

import { createRoute, z } from '@hono/zod-openapi';
import { isServiceError } from '../../errors.ts';
import { Id } from '../ids.ts';
import { type App, routes } from '../openapi.ts';
import { jsonAnswer, problem, problemAnswers, roleProblems } from '../problems.ts';
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
    skipped: z.array(z.object({ check: z.string(), why: z.string() })),
  })
  .openapi('Audit');

export function auditRoutes({ log, auditOf, readToken }: Service): App {
  const check = createRoute({
    method: 'get',
    path: '/vouchers/{id}/audit',
    operationId: 'auditVoucher',
    summary: 'Audit a voucher',
    description:
      'For operators: the findings of the audit, from MySQL and Redis. It runs in a process of ' +
      'its own, one at a time for each instance.',
    tags: ['vouchers'],
    security: [{ token: [] }],
    middleware: requireRole('operator', readToken),
    request: { params: z.object({ id: Id }) },
    responses: {
      200: jsonAnswer(AuditView, 'The audit of MySQL and Redis'),
      ...problemAnswers(...roleProblems, 'unknown-voucher', 'not-ready'),
    },
  });

  return routes().openapi(check, async (c) => {
    const audited = await auditOf(c.req.valid('param').id).catch((error: unknown) => {
      if (!isServiceError(error, 'AUDIT_FAILED')) throw error;
      log.error({ event: 'audit-failed', error: error.message });
    });
    if (audited === undefined)
      return problem(c, 'not-ready', 'The audit gave no answer. The log of the service says why.');
    return audited ? c.json(AuditView.parse(audited), 200) : problem(c, 'unknown-voucher');
  });
}
