/** What the page says in the viewer's language. The ladder's own texts are the rest. */

import { computed, signal } from '@preact/signals';
import { type Language, languages, texts } from '../../texts/texts.ts';
import { keep, kept } from './kept.ts';
import { en } from './texts-en.ts';
import { zh } from './texts-zh.ts';

const own = { en, zh } as const;

const isLanguage = (text: string): text is Language => languages.some((each) => each === text);
const asked = globalThis.document?.documentElement.dataset['language']; // Of a file.
const wanted = asked ?? chosenLanguage() ?? globalThis.navigator?.language ?? 'en';
const first = wanted.slice(0, 2);
export const language = signal<Language>(isLanguage(first) ? first : 'en');

export function changeLanguage(): void {
  language.value = language.value === 'en' ? 'zh' : 'en';
  keep('language', language.value);
}

export const page = computed(() => own[language.value]);
export const ladder = computed(() => texts[language.value]);

/** The sentence of a checkpoint or of an answer; its name where there is none. */
export function stepText(word: string): string {
  const words: Readonly<Record<string, string>> = ladder.value.steps;
  return words[word] ?? word;
}

/** By a button of the page, or by a link to it, in this browser. */
function chosenLanguage(): string | null {
  const linked = new URLSearchParams(globalThis.location?.search).get('language');
  const known = languages.find((each) => each === linked);
  if (known) keep('language', known);
  return known ?? kept('language');
}
