/** The ladder's sentences by language. */
import type { Verdict } from '../service/domain.ts';
import { en, type LadderText } from './en.ts';
import { zh } from './zh.ts';

export const languages = ['en', 'zh'] as const;
export type Language = (typeof languages)[number];

/** A sentence or a word, complete by type. */
export type Bilingual = Readonly<Record<Language, string>>;

export const texts: Readonly<Record<Language, LadderText>> = { en, zh };

export const verdictText = (verdict: Verdict): Bilingual => ({
  en: en.verdicts[verdict],
  zh: zh.verdicts[verdict],
});
