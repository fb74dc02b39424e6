import { audit } from '../audit/audit.ts';
import { collectFacts } from '../audit/collect.ts';
import { counterExamples } from '../audit/counter-example.ts';
import { confirmed } from '../audit/facts.ts';
import { readHistory } from '../audit/history.ts';
import { InvalidId, LabDown, UnknownVoucher } from '../errors.ts';
import { Id } from '../http/ids.ts';
import { Lab } from '../lab/lab.ts';
import { keptFacts } from '../report/facts-files.ts';
import { auditLines, proofText } from '../report/sentences.ts';
import { withConnections } from './lab-connections.ts';
import { type Place, type Reporting, report } from './place.ts';

const exitCodes = { held: 0, violated: 1, unknown: 2 } as const;

export async function auditVoucher(
  { labFolder, runsFolder }: Place,
  id: string,
  { json }: Reporting,
): Promise<void> {
  if (!Id.safeParse(id).success) throw new InvalidId(id);
  const voucherId = id;
  const lab = Lab.running(labFolder);
  if (!lab) throw new LabDown();
  const collected = await withConnections(lab, (connections) =>
    collectFacts(connections.mysql(), connections.redis('admin'), voucherId),
  );
  if (!collected) throw new UnknownVoucher(voucherId);
  const kept = keptFacts(runsFolder, collected);
  const seen = readHistory(lab.historyFolder, voucherId);
  const isWhole = seen.length >= (kept.history?.length ?? 0); // The lab forgets when it takes another shape.
  const facts = { ...collected, ...kept, ...(isWhole && seen.length > 0 && { history: seen }) };
  const result = audit(facts);
  const proofs = counterExamples(result, facts);
  const orders = confirmed(facts).length;
  const { rung, initialStock, mysql } = facts;
  report(json, { voucherId, rung, initialStock, stock: mysql.stock, orders, ...result, proofs }, () =>
    [
      `voucher ${voucherId} (${rung}): ${result.verdict}; ${orders} orders and ${mysql.stock} left of ${initialStock}`,
      auditLines(result),
      ...proofs.flatMap(proofText),
    ].join('\n'),
  );
  process.exitCode = exitCodes[result.verdict];
}
