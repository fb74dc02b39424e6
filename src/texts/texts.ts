/** The ladder's sentences by language. */
import { en } from './en.ts';
import type { LadderText } from './text.ts';
import { zh } from './zh.ts';

export const languages = ['en', 'zh'] as const;
export type Language = (typeof languages)[number];

export const texts: Readonly<Record<Language, LadderText>> = { en, zh };
