/** The audit of a voucher whose facts are read in parts: it takes as much memory as one part. */
import type { Connections } from '../connections/connections.ts';
import type { Verdict } from '../domain.ts';
import { audit, auditInEnglish, worstOf } from './audit.ts';
import { collectInParts } from './collect-in-parts.ts';
import { type Facts, usersWithSeveralOrders } from './facts.ts';
import type { Finding } from './finding.ts';

/** Which case is the worst is not known: each part has its own. */
type PartFinding = Pick<Finding, 'check' | 'verdict' | 'count' | 'first'>;
type InEnglish = ReturnType<typeof auditInEnglish>;

/** What the service answers: its sentences are in English. */
export interface VoucherAudit {
  readonly verdict: Verdict;
  readonly initialStock: number;
  readonly stock: number;
  readonly orders: number;
  readonly usersWithTwoOrders: number;
  readonly findings: InEnglish['findings'];
  /** The checks that were not made, and why. */
  readonly skipped: InEnglish['skipped'];
}

/** From MySQL and Redis alone. Null when there is no such voucher. */
export async function auditInParts(
  connections: Connections,
  voucherId: string,
): Promise<VoucherAudit | null> {
  let findings: readonly PartFinding[] = [];
  let usersWithTwoOrders = 0;
  let whole: Facts | undefined;
  await collectInParts(connections, voucherId, (part) => {
    findings = merge(findings, audit(part).findings);
    usersWithTwoOrders += usersWithSeveralOrders(part);
    whole = part;
  });
  if (!whole) return null;
  const { initialStock, mysql } = whole;
  const numbers = { initialStock, stock: mysql.stock, orders: mysql.sold ?? 0 };
  const verdict = worstOf(findings.map((each) => each.verdict));
  const { skipped } = audit(whole);
  const inEnglish = auditInEnglish({ findings, skipped });
  return { verdict, ...numbers, usersWithTwoOrders, ...inEnglish };
}

/** Every part has the same checks. */
const merge = (earlier: readonly PartFinding[], later: readonly Finding[]): PartFinding[] =>
  later.map(({ check, verdict, count, first }) => {
    const finding = { check, verdict, count, ...(first !== undefined && { first }) };
    const known = earlier.find((each) => each.check === check);
    return known ? mergeFindings(known, finding) : finding;
  });

/** What one part cannot decide, the whole cannot: orders are on their way. */
function mergeFindings(one: PartFinding, other: PartFinding): PartFinding {
  const unknown = [other, one].find(({ verdict }) => verdict === 'unknown');
  if (unknown) return unknown;
  const [first, second] = one.count > 0 ? [one, other] : [other, one];
  return { ...first, count: first.count + second.count };
}
