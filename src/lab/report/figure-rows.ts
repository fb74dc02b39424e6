/** The figures of a result. The page has them, too. */
import type { Language } from '../../texts/texts.ts';
import type { Result } from '../stage/result.ts';

/** Names and values for people. */
export const figureRows = (
  figures: Result['figures'],
  language: Language = 'en',
): [name: string, value: string][] =>
  Object.entries(figures).map(([name, value]) => [words(name, language), count(value)]);

/** Of what a learner plays. The others are of drills and benchmarks, and stay English. */
const inChinese: Readonly<Record<string, string>> = {
  ...{ accepted: '受理', refused: '拒绝', unknown: '结果未知', attempts: '请求' },
  ...{ recorded: '已入库', lost: '丢失', secondOrders: '重复的订单', violations: '违反的承诺' },
  ...{
    seconds: '时长（秒）',
    stillWaiting: '还在等待',
    rungs: '方案',
    orders: '先后顺序',
    shown: '已演示',
  },
};

/** `longestGapMs` is shown as `longest gap ms`. */
const words = (name: string, language: Language): string =>
  (language === 'zh' ? inChinese[name] : undefined) ??
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const count = (value: number): string => Math.round(value).toLocaleString('en-US');
