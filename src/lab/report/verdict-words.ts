/** The words around a verdict, in each language. What the audit found has one language only. */
import type { CheckName, Verdict } from '../../service/domain.ts';
import type { Language } from '../../texts/texts.ts';
import { columns } from './wrap.ts';

interface VerdictWords {
  readonly verdicts: Readonly<Record<Verdict, string>>;
  readonly asClaimed: string;
  readonly notAsClaimed: string;
  /** @param isClaimed the ladder claims that they break */
  readonly alsoBroken: (names: readonly string[], isClaimed: boolean) => string;
  readonly ladderClaims: (verdict: Verdict, checks: readonly CheckName[]) => string;
  readonly instances: (rung: string, instances: number) => string;
  readonly proofOf: (check: CheckName) => string;
  readonly raceTitle: (race: string, rung: string, title: string) => string;
  readonly inMysql: string;
  readonly ofProof: (userId: string, orderId: string) => string;
  readonly cases: (count: number) => string;
  readonly refused: (counts: string) => string;
  readonly faults: (injected: readonly string[]) => string;
  readonly claimed: (text: string) => string;
  readonly verdictIs: (verdict: Verdict) => string;
  /** What broke is what the ladder claims. */
  readonly claimedOnly: string;
  readonly headline: readonly string[];
  readonly runHead: readonly string[];
  readonly costHead: readonly string[];
  readonly legend: string;
  readonly costLegend: string;
}

const en: VerdictWords = {
  verdicts: { held: 'held', violated: 'violated', unknown: 'unknown' },
  asClaimed: 'as claimed',
  notAsClaimed: 'NOT as claimed',
  alsoBroken: (names, isClaimed) =>
    `also broken${isClaimed ? ', as the ladder claims' : ''}: ${names.join(', ')}`,
  ladderClaims: (verdict, checks) =>
    ` (the ladder claims ${verdict}${checks.map((check) => ` of ${check}`).join(' and')})`,
  instances: (rung, instances) => `${rung} on ${instances} instance${instances === 1 ? '' : 's'}`,
  proofOf: (check) => `the proof that ${check} is violated:`,
  raceTitle: (race, rung, title) => `${race} on ${rung}: ${title}`,
  inMysql: 'in MySQL',
  ofProof: (userId, orderId) => `user ${userId}, order ${orderId}`,
  cases: (count) => ` (${count} cases)`,
  refused: (counts) => `refused: ${counts || 'none'}`,
  faults: (injected) => `faults: ${injected.join(', ') || 'none'}`,
  claimed: (text) => `as claimed: ${text}`,
  verdictIs: (verdict) => `verdict: ${verdict}`,
  claimedOnly: '; what broke is what the ladder claims',
  headline: ['', 'sold', 'users with two orders', 'verdict'],
  runHead: ['rung', 'on', 'yes/no/?', 'sold', 'left', 'over', 'twice', 'verdict', 'ok'],
  costHead: ['rung', 'on', 'orders/s', 'p50', 'p99', 'lost', 'retried'],
  legend: `on       instances behind nginx; with * behind Node's own cluster
yes/no/? attempts that were accepted / refused / of unknown outcome
over     orders beyond the stock        twice    users with more than one order
verdict  of the audit, from MySQL, Redis and the answers to clients
ok       ✓ the verdict is what the ladder claims, ✗ it is not`,
  costLegend: `orders/s orders recorded per second          p50, p99 answer times in ms
lost     refused because another buyer was faster, although stock was left
retried  retries of the accepted attempts; an optimistic rung runs twice:
         without retries, then with up to 20`,
};

const zh: VerdictWords = {
  verdicts: { held: '通过', violated: '违反', unknown: '未知' },
  asClaimed: '与预期一致',
  notAsClaimed: '与预期不一致',
  alsoBroken: (names, isClaimed) =>
    `另外违反${isClaimed ? '（与预期一致）' : ''}：${names.join('、')}`,
  ladderClaims: (verdict, checks) => `（预期：${checks.join('、')} ${zh.verdicts[verdict]}）`,
  instances: (rung, instances) => `${rung}，${instances} 个实例`,
  proofOf: (check) => `违反 ${check} 的证据：`,
  raceTitle: (race, rung, title) => `${race}，方案 ${rung}：${title}`,
  inMysql: 'MySQL 里',
  ofProof: (userId, orderId) => `用户 ${userId}，订单 ${orderId}`,
  cases: (count) => `（${count} 处）`,
  refused: (counts) => `被拒绝：${counts || '无'}`,
  faults: (injected) => `故障：${injected.join('，') || '无'}`,
  claimed: (text) => `与预期一致：${text}`,
  verdictIs: (verdict) => `结果：${zh.verdicts[verdict]}`,
  claimedOnly: '；违反的正是预期会违反的',
  headline: ['', '卖出', '有两单的用户', '结果'],
  runHead: ['方案', '实例', '是/否/?', '卖出', '剩余', '超卖', '重复', '结果', '一致'],
  costHead: ['方案', '实例', '订单/秒', 'p50', 'p99', '冲突', '重试'],
  legend: `实例     nginx 后面的实例数；带 * 是 Node 自己的 cluster
是/否/?  受理 / 拒绝 / 结果未知的请求数
超卖     超过库存的订单数        重复     有多个订单的用户数
结果     审计的结果，依据 MySQL、Redis 和给客户端的响应
一致     ✓ 与预期一致，✗ 不一致`,
  costLegend: `订单/秒  每秒入库的订单数        p50、p99  响应时间，单位 ms
冲突     还有库存，但别的买家先改了那一行，因而被拒绝
重试     被受理的请求重试的次数；乐观锁的方案跑两遍：先不重试，再最多重试 20 次`,
};

export const verdictWords: Readonly<Record<Language, VerdictWords>> = { en, zh };

/** Padded to this number of terminal columns. */
export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - columns(text)));

export const atRight = (text: string, width: number): string =>
  ' '.repeat(Math.max(0, width - columns(text))) + text;
