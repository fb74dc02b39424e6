/** The words around a verdict, its figures and its loads, in each language. For the page, too. */
import type { CheckName, Verdict } from '../../service/domain.ts';
import { type Language, texts } from '../../texts/texts.ts';
import { grouped } from '../stage/counts.ts';
import type { Result } from '../stage/result.ts';
import type { LoadCost } from '../stage/seconds.ts';

const en = {
  verdicts: texts.en.verdicts,
  asClaimed: 'as claimed',
  notAsClaimed: 'NOT as claimed',
  notClaimed: (claim: Verdict) => `✗ claim: ${claim}`,
  /** @param isClaimed the ladder claims that they break */
  alsoBroken: (names: readonly string[], isClaimed: boolean) =>
    `also broken${isClaimed ? ', as the ladder claims' : ''}: ${names.join(', ')}`,
  ladderClaims: (verdict: Verdict, checks: readonly CheckName[]) =>
    ` (the ladder claims ${verdict}${checks.map((check) => ` of ${check}`).join(' and')})`,
  instances: (rung: string, instances: number) =>
    `${rung} on ${instances} instance${instances === 1 ? '' : 's'}`,
  cluster: ' (Node’s cluster)',
  proofOf: (check: CheckName) => `the proof that ${check} is violated:`,
  raceTitle: (race: string, rung: string, title: string) => `${race} on ${rung}: ${title}`,
  inMysql: 'in MySQL',
  ofProof: (userId: string, orderId: string) => `user ${userId}, order ${orderId}`,
  cases: (count: number) => ` (${count} cases)`,
  /** After a verdict: how many of the checks that could run came to it. */
  ofChecks: (count: number, judged: number, skipped: number) =>
    `: ${count} of the ${judged} checks` +
    (skipped === 0 ? '' : ` that could run (of ${judged + skipped})`),
  notPaused: (pause: string) => `pause ${pause}: NO request reached it`,
  paused: (pause: string, request: string, ms: number | undefined) =>
    `pause ${pause}: ${request}, ${ms === undefined ? 'to the end' : `${ms} ms`}`,
  refused: (counts: string) => `refused: ${counts || 'none'}`,
  faults: (injected: readonly string[]) => `faults: ${injected.join(', ') || 'none'}`,
  claimed: (text: string) => `as claimed: ${text}`,
  more: (count: number) => `and ${count} more`,
  verdictIs: (verdict: Verdict) => `verdict: ${verdict}`,
  claimedOnly: '; what broke is what the ladder claims',
  figureHead: ['figure', 'value'],
  measuredBy: (command: string, verdict: Verdict) => `Measured by \`${command}\`: ${verdict}.`,
};
type VerdictWords = typeof en;

const zh: VerdictWords = {
  verdicts: texts.zh.verdicts,
  asClaimed: '与预期一致',
  notAsClaimed: '与预期不一致',
  notClaimed: (claim) => `✗ 预期：${zh.verdicts[claim]}`,
  alsoBroken: (names, isClaimed) =>
    `另外违反${isClaimed ? '（与预期一致）' : ''}：${names.join('、')}`,
  ladderClaims: (verdict, checks) => `（预期：${checks.join('、')} ${zh.verdicts[verdict]}）`,
  instances: (rung, instances) => `${rung}，${instances} 个实例`,
  cluster: '（Node 自己的 cluster）',
  proofOf: (check) => `违反 ${check} 的证据：`,
  raceTitle: (race, rung, title) => `${race}，方案 ${rung}：${title}`,
  inMysql: 'MySQL 里',
  ofProof: (userId, orderId) => `用户 ${userId}，订单 ${orderId}`,
  cases: (count) => `（${count} 处）`,
  ofChecks: (count, judged, skipped) =>
    `：${judged} 项检查中的 ${count} 项${skipped === 0 ? '' : `（另有 ${skipped} 项做不了）`}`,
  notPaused: (pause) => `暂停 ${pause}：没有请求走到那里`,
  paused: (pause, request, ms) =>
    `暂停 ${pause}：${request}，${ms === undefined ? '直到结束' : `${ms} ms`}`,
  refused: (counts) => `被拒绝：${counts || '无'}`,
  faults: (injected) => `故障：${injected.join('，') || '无'}`,
  claimed: (text) => `与预期一致：${text}`,
  more: (count) => `还有 ${count} 条`,
  verdictIs: (verdict) => `结果：${zh.verdicts[verdict]}`,
  claimedOnly: '；违反的正是预期会违反的',
  figureHead: ['数字', '值'],
  measuredBy: (command, verdict) => `由 \`${command}\` 测得：${zh.verdicts[verdict]}。`,
};

export const verdictWords: Readonly<Record<Language, VerdictWords>> = { en, zh };

const count = (value: number): string => grouped(Math.round(value));
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

type Counts = Pick<LoadCost, 'accepted' | 'refused' | 'unknown'>;

const costWords = {
  en: {
    counts: ({ accepted, refused, unknown }: Counts) =>
      `${count(accepted)} accepted, ${count(refused)} refused, ${count(unknown)} unknown`,
    gap: (length: string, from: string, to: string) =>
      `; the longest time without a sale was ${length} s, from ${from} to ${to} s.`,
    of: (load: string) => `${load}: `,
    end: '.',
  },
  zh: {
    counts: ({ accepted, refused, unknown }: Counts) =>
      `受理 ${count(accepted)}，拒绝 ${count(refused)}，未知 ${count(unknown)}`,
    gap: (length: string, from: string, to: string) =>
      `；最长 ${length} 秒没有成交，从第 ${from} 秒到第 ${to} 秒。`,
    of: (load: string) => `${load}：`,
    end: '。',
  },
} as const;

/** What each load cost its buyers, in a sentence. */
export const costSentences = (loads: readonly LoadCost[], language: Language = 'en'): string[] =>
  loads.map(({ load, withoutSale, ...counts }) => {
    const say = costWords[language];
    const { fromMs = 0, toMs = 0 } = withoutSale ?? {};
    const gap =
      toMs > fromMs ? say.gap(seconds(toMs - fromMs), seconds(fromMs), seconds(toMs)) : say.end;
    return (load && say.of(load)) + say.counts(counts) + gap;
  });

/** Names and values for people. */
export const figureRows = (
  figures: Result['figures'],
  language: Language = 'en',
  inChinese: Readonly<Record<string, string>> = usualFigures,
): [name: string, value: string][] =>
  Object.entries(figures).map(([name, value]) => [
    (language === 'zh' ? inChinese[name] : undefined) ?? wordsOf(name),
    count(value),
  ]);

/** Those of most drills: the page has room for no more. */
export const usualFigures: Readonly<Record<string, string>> = {
  accepted: '受理',
  refused: '拒绝',
  unknown: '结果未知',
  attempts: '请求',
  recorded: '已入库',
  lost: '丢失',
  secondOrders: '重复的订单',
  violations: '违反的承诺',
  seconds: '时长（秒）',
  stillWaiting: '还在等待',
  ownersAtOnce: '同时持有锁的买家',
  rungs: '方案',
  orders: '先后顺序',
  shown: '已演示',
  // Of a storm of purchases.
  purchases: '下单',
  requests: '请求',
  sold: '卖出',
  usersWithTwoOrders: '有两单的用户',
  unresolved: '没有明确结果',
  unsent: '没有按时发出',
  unexpected: '不该出现的响应',
  vouchers: '券',
  faults: '故障',
  cells: '单元格',
  notAsClaimed: '与预期不一致',
  red: '变红',
  survived: '没有变红',
  oversold: '超卖',
};

/** `longestGapMs` is shown as `longest gap ms`. */
const wordsOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
