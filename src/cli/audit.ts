import { Lab } from '../lab/environment/lab.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { labError } from '../lab/errors.ts';
import { keptFacts } from '../lab/report/facts-files.ts';
import { auditLines, proofText, verdictSentence } from '../lab/report/sentences.ts';
import { wrap } from '../lab/report/wrap.ts';
import { answerOf } from '../lab/stage/result.ts';
import { audit, auditInEnglish, unknownUnlessTried } from '../service/audit/audit.ts';
import { collectFacts } from '../service/audit/collect.ts';
import { proofsOf } from '../service/audit/evidence.ts';
import { confirmed, type Facts } from '../service/audit/facts.ts';
import { readHistory } from '../service/audit/read-history.ts';
import { Id } from '../service/http/ids.ts';
import { json } from './options.ts';
import {
  type AddCommand,
  type JsonOption,
  print,
  setExitCode,
  type WorkFolders,
} from './output.ts';

export const addAudit: AddCommand = (program, folders) =>
  program
    .command('audit')
    .description(
      'check one voucher: MySQL, Redis, and the answers to clients where a run kept them',
    )
    .argument('<voucherId>', 'its id')
    .addOption(json())
    .action((voucherId: string, options: JsonOption) => auditVoucher(folders, voucherId, options));

/** Nothing was sold, so nothing could have gone wrong. */
const isUntouched = ({ initialStock, mysql, redis }: Facts): boolean =>
  initialStock > 0 &&
  mysql.stock === initialStock &&
  mysql.orders.length === 0 &&
  (redis?.queued.length ?? 0) === 0 &&
  Object.keys(redis?.buyers ?? {}).length === 0;

async function auditVoucher(
  { labFolder, runsFolder }: WorkFolders,
  voucherId: string,
  { json }: JsonOption,
): Promise<void> {
  if (!Id.safeParse(voucherId).success) throw labError('INVALID_ID', voucherId);
  const lab = Lab.running(labFolder);
  if (!lab) throw labError('LAB_DOWN');
  const collected = await withConnections(lab, (connections) =>
    collectFacts(connections, voucherId),
  );
  if (!collected) throw labError('UNKNOWN_VOUCHER', voucherId);
  const kept = keptFacts(runsFolder, collected);
  const read = readHistory(lab.historyFolder, voucherId);
  // A new shape of the lab empties its history.
  const isComplete = read.history.length >= (kept.history?.length ?? 0);
  const facts = { ...collected, ...kept, ...(isComplete && read.history.length > 0 && read) };
  const isTried = !isUntouched(facts);
  const result = unknownUnlessTried(isTried, audit(facts));
  const proofs = proofsOf(result, facts);
  const orders = confirmed(facts).length;
  const { rung, initialStock, mysql } = facts;
  print(
    json,
    {
      voucherId,
      rung,
      initialStock,
      stock: mysql.stock,
      orders,
      ...result,
      ...auditInEnglish(result),
      proofs,
    },
    () =>
      [
        wrap(
          `voucher ${voucherId} (${rung}): ${verdictSentence(result)}; ${orders} orders and ${mysql.stock} left of ${initialStock}`,
        ),
        ...(isTried ? [] : ['nobody has bought: there is nothing to judge']),
        auditLines(result),
        ...proofs.flatMap((proof) => proofText(proof)),
      ].join('\n'),
  );
  setExitCode([answerOf[result.verdict]]);
}
