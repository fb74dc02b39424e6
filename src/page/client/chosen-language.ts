/** The language that was chosen in this browser: by a button of the page, or by a link to it. */
import { languages } from '../../texts/texts.ts';

const storeName = 'lockstep-language';

export function chosenLanguage(): string | null {
  const linked = new URLSearchParams(globalThis.location?.search).get('language');
  const known = languages.find((each) => each === linked);
  if (known) {
    rememberLanguage(known);
    return known;
  }
  try {
    return localStorage.getItem(storeName);
  } catch {
    return null; // A file from the disk may not have a store.
  }
}

export function rememberLanguage(language: string): void {
  try {
    localStorage.setItem(storeName, language);
  } catch {
    // Then it is chosen until the page is closed.
  }
}
