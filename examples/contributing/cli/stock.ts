/** `stock`: what is left of a voucher. */
import { json, knownId, language } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import { withConnections } from '../lab/environment/lab-connections.ts';
import { withLab } from '../lab/environment/session.ts';
import { labError } from '../lab/errors.ts';
import { collectFacts } from '../service/audit/collect.ts';
import { command } from './command.ts';
import { print, progressIn, setExitCode } from './output.ts';

const stockRow = commandRow({
  name: 'stock',
  about: {
    en: 'show what is left of a voucher in MySQL and in Redis',
    zh: '一张券在 MySQL 和 Redis 里各剩多少',
  },
  arguments: { voucherId: { schema: knownId, en: 'its id', zh: '券的 id' } },
  options: { json, language },
});

/** The lab that is up, or one that is started and stopped again. */
export const addStock = command(stockRow, async ({ labFolder }, { voucherId, json, language }) => {
  const facts = await withLab(labFolder, progressIn(language), (lab) =>
    withConnections(lab, (connections) => collectFacts(connections, voucherId)),
  );
  if (!facts) throw labError('UNKNOWN_VOUCHER', voucherId);
  const left = { mysql: facts.mysql.stock, redis: facts.redis?.stock ?? null };
  print(json, left, () => `MySQL ${left.mysql}, Redis ${left.redis ?? 'does not keep it'}`);
  setExitCode([left.redis === null || left.redis === left.mysql ? 'yes' : 'no']);
});
