/** What each load cost its buyers, in a sentence. */
import type { Language } from '../../texts/texts.ts';
import type { LoadCost } from '../stage/seconds.ts';

const count = (value: number): string => value.toLocaleString('en-US');
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

type Counts = Pick<LoadCost, 'accepted' | 'refused' | 'unknown'>;

const words = {
  en: {
    counts: ({ accepted, refused, unknown }: Counts) =>
      `${count(accepted)} accepted, ${count(refused)} refused, ${count(unknown)} unknown`,
    gap: (length: string, from: string, to: string) =>
      `; the longest time without a sale was ${length} s, from ${from} to ${to} s.`,
    ...{ of: (load: string) => `${load}: `, end: '.' },
  },
  zh: {
    counts: ({ accepted, refused, unknown }: Counts) =>
      `受理 ${count(accepted)}，拒绝 ${count(refused)}，未知 ${count(unknown)}`,
    gap: (length: string, from: string, to: string) =>
      `；最长 ${length} 秒没有成交，从第 ${from} 秒到第 ${to} 秒。`,
    ...{ of: (load: string) => `${load}：`, end: '。' },
  },
} as const;

export const costSentences = (loads: readonly LoadCost[], language: Language = 'en'): string[] =>
  loads.map(({ load, withoutSale, ...counts }) => {
    const say = words[language];
    const { fromMs = 0, toMs = 0 } = withoutSale ?? {};
    const gap =
      toMs > fromMs ? say.gap(seconds(toMs - fromMs), seconds(fromMs), seconds(toMs)) : say.end;
    return (load && say.of(load)) + say.counts(counts) + gap;
  });
