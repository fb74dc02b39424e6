/** `audit`, `reconcile`, `dead-letters` and `ended-sales`: what an operator does, in the lab. */
import { json, knownId, language } from '../lab/commands/options.ts';
import { commandRow } from '../lab/commands/row.ts';
import { forgetKept } from '../lab/environment/data-folder.ts';
import { runningLab, withConnections } from '../lab/environment/lab-connections.ts';
import { labError } from '../lab/errors.ts';
import { keptFacts } from '../lab/report/folder.ts';
import { auditLines, proofText, verdictSentence } from '../lab/report/sentences.ts';
import { wrap, wrapLines } from '../lab/report/wrap.ts';
import { answerOf } from '../lab/stage/result.ts';
import { audit, auditInEnglish, proofsOf, unknownUnlessTried } from '../service/audit/audit.ts';
import { collectFacts } from '../service/audit/collect.ts';
import { confirmed, type Facts } from '../service/audit/facts.ts';
import { readHistory } from '../service/audit/read-history.ts';
import type { Connections } from '../service/connections/connections.ts';
import type { OperationResult } from '../service/operate/operate.ts';
import { type OperateSentences, operateSentences } from '../service/operate/sentences.ts';
import { flag } from '../service/operate/words.ts';
import { endedDays, runEndedSales } from '../service/orders/ended-sales.ts';
import { LettersGiven, runDeadLetters } from '../service/orders/letters-command.ts';
import { ReconcileGiven, runReconcile } from '../service/orders/reconcile/reconcile-command.ts';
import { withDeployment } from '../service/processes/with-stores.ts';
import { operateZh } from '../texts/operate-zh.ts';
import type { Language } from '../texts/texts.ts';
import { command } from './command.ts';
import { errorInChinese } from './errors-zh.ts';
import { print, setExitCode } from './output.ts';

/** An error of one letter is told as one of a command is. */
const operateWords: Readonly<Record<Language, OperateSentences>> = {
  en: operateSentences,
  zh: {
    ...operateZh,
    refused: (id, code) => operateZh.refused(id, code, errorInChinese(code)),
  },
};

function tellDone(json: boolean, { data, text, exitCode }: OperationResult): void {
  print(json, data, () => wrapLines(text));
  process.exitCode = exitCode;
}

const reconcileRow = commandRow({
  name: 'reconcile',
  about: {
    en: 'compare Redis and MySQL for the vouchers of lua-stream and lua-buckets, also while they sell',
    zh: '对账：lua-stream 和 lua-buckets 的券，Redis 和 MySQL 是否一致，卖着也能对',
  },
  arguments: {
    voucherId: {
      schema: knownId.optional(),
      en: 'only this one; not with --rebuild',
      zh: '只对这一张；不能和 --rebuild 一起用',
    },
  },
  options: {
    repair: {
      schema: ReconcileGiven.shape.repair,
      en: 'mend what differs; never sells more than there is',
      zh: '把不一致的修好；绝不会超卖',
    },
    rebuild: {
      schema: ReconcileGiven.shape.rebuild,
      en: 'rebuild all of them from MySQL and the stream; sales stop meanwhile',
      zh: '从 MySQL 和 Stream 全部重建；期间停卖',
      conflicts: ['repair'],
    },
    language,
    json,
  },
});

export const addReconcile = command(
  reconcileRow,
  async ({ labFolder }, { json, language, ...given }) => {
    if (given.voucherId !== undefined && given.rebuild) throw labError('REBUILD_OF_ONE');
    const lab = runningLab(labFolder);
    const done = await withConnections(lab, (opened) =>
      runReconcile(opened, given, operateWords[language]),
    );
    // Of the epoch before: with these data the service would not start again.
    if (given.rebuild) forgetKept(lab.dataFolder('redis-main'));
    tellDone(json, done);
  },
);

const { act, letter, most, all, reason, voucherId } = LettersGiven.shape;

const lettersRow = commandRow({
  name: 'dead-letters',
  about: {
    en: 'orders that could not be recorded: list, show, replay (sell it again) or discard',
    zh: '没能入库的订单（死信）：列出、查看、重放（重新卖）或丢弃',
  },
  arguments: {
    act: { schema: act, en: 'what to do', zh: '做什么' },
    letter: {
      schema: letter,
      en: 'its id, from the list; list needs none',
      zh: '列表里的 id；list 不用写',
    },
  },
  options: {
    most: {
      schema: most,
      en: 'how many, the oldest first',
      zh: '最多多少封，旧的在前',
    },
    all: {
      schema: all,
      en: 'replay or discard every letter that the next two options leave',
      zh: '重放或丢弃下面两个选项筛出来的全部死信',
    },
    reason: {
      schema: reason,
      value: '<reason>',
      en: 'only letters with this reason',
      zh: '只要这个原因的死信',
    },
    voucherId: {
      schema: voucherId,
      value: '<id>',
      en: 'only letters of this voucher',
      zh: '只要这张券的死信',
    },
    deployment: {
      schema: flag,
      en: 'of the service in the environment (MYSQL_URL, …), not the lab',
      zh: '不是实验环境，而是环境变量（MYSQL_URL……）指的服务',
    },
    language,
    json,
  },
});

export const addDeadLetters = command(lettersRow, async ({ labFolder }, given) => {
  const { json, deployment, language, ...request } = given;
  const run = (opened: Connections) => runDeadLetters(opened, request, operateWords[language]);
  const done = await (deployment
    ? withDeployment(run)
    : withConnections(runningLab(labFolder), run));
  tellDone(json, done);
});

const endedRow = commandRow({
  name: 'ended-sales',
  about: {
    en: 'delete the keys of ended sales from Redis; MySQL keeps vouchers and orders',
    zh: '删除 Redis 里已结束的秒杀的 key；MySQL 保留券和订单',
  },
  arguments: {},
  options: {
    days: {
      schema: endedDays.default(0),
      en: 'only sales that ended at least this many days ago',
      zh: '至少多少天前结束的',
    },
    language,
    json,
  },
});

export const addEndedSales = command(endedRow, async ({ labFolder }, { days, json, language }) =>
  tellDone(
    json,
    await withConnections(runningLab(labFolder), (opened) =>
      runEndedSales(opened, days, operateWords[language]),
    ),
  ),
);

const auditRow = commandRow({
  name: 'audit',
  about: {
    en: 'check one voucher: MySQL, Redis, and the answers to clients where a run kept them',
    zh: '审计一张券：MySQL、Redis，以及那次运行记下的、客户端收到的响应',
  },
  arguments: { voucherId: { schema: knownId, en: 'its id', zh: '券的 id' } },
  options: { language, json },
});

/** Nothing was sold, so nothing could have gone wrong. */
const isUntouched = ({ initialStock, mysql, redis }: Facts): boolean =>
  initialStock > 0 &&
  mysql.stock === initialStock &&
  mysql.orders.length === 0 &&
  (redis?.queued.length ?? 0) === 0 &&
  Object.keys(redis?.buyers ?? {}).length === 0;

export const addAudit = command(auditRow, async (folders, { voucherId, language, json }) => {
  const lab = runningLab(folders.labFolder);
  const collected = await withConnections(lab, (connections) =>
    collectFacts(connections, voucherId),
  );
  if (!collected) throw labError('UNKNOWN_VOUCHER', voucherId);
  const kept = keptFacts(folders.runsFolder, collected);
  const read = readHistory(lab.historyFolder, voucherId);
  // A new shape of the lab empties its history.
  const isComplete = read.history.length >= (kept.history?.length ?? 0);
  const facts = { ...collected, ...kept, ...(isComplete && read.history.length > 0 && read) };
  const isTried = !isUntouched(facts);
  const result = unknownUnlessTried(isTried, audit(facts));
  const proofs = proofsOf(result, facts);
  const orders = confirmed(facts).length;
  const { rung, initialStock, mysql } = facts;
  const about = { voucherId, rung, initialStock, stock: mysql.stock, orders };
  const say = auditWords[language];
  print(json, { ...about, ...result, ...auditInEnglish(result), proofs }, () =>
    [
      wrap(say.head(about, verdictSentence(result, language))),
      ...(isTried ? [] : [say.untried]),
      auditLines(result, language),
      ...proofs.flatMap((proof) => proofText(proof, language)),
    ].join('\n'),
  );
  setExitCode([answerOf[result.verdict]]);
});

interface AuditedVoucher {
  readonly voucherId: string;
  readonly rung: string;
  readonly initialStock: number;
  readonly stock: number;
  readonly orders: number;
}

const en = {
  head: ({ voucherId, rung, initialStock, stock, orders }: AuditedVoucher, verdict: string) =>
    `voucher ${voucherId} (${rung}): ${verdict}; ${orders} orders and ${stock} left of ${initialStock}`,
  untried: 'there was no purchase, so there is nothing to judge',
};

const zh: typeof en = {
  head: ({ voucherId, rung, initialStock, stock, orders }, verdict) =>
    `券 ${voucherId}（${rung}）：${verdict}；库存 ${initialStock}，订单 ${orders} 个，剩余 ${stock}`,
  untried: '还没有人下单，没有可判断的',
};

const auditWords: Readonly<Record<Language, typeof en>> = { en, zh };
