/** The sentence of a row: what a lane did. The same for its picture, its list and the feed. */
import type { Row, Wait } from './model.ts';
import { page, stepText } from './texts.ts';

export interface Sentence {
  /** A shape beside every colour. */
  readonly mark: '●' | '◌' | '∥' | '▶' | '✕' | '✓' | '✗' | '–';
  readonly text: string;
  /** The checkpoint, the order, the time that it took. */
  readonly evidence: string;
}

export function rowSentence(row: Row): Sentence {
  return { mark: markOf(row), text: textOf(row), evidence: evidenceOf(row) };
}

function markOf({ kind, word, isWrong }: Row): Sentence['mark'] {
  if (isWrong) return '✗';
  if (word === 'pause') return '∥';
  if (word === 'resume' || word === 'start' || word === 'started') return '▶';
  if (isUnanswered(word)) return '✕';
  if (word === 'lock-service-unavailable') return '✕';
  const marks = { at: '●', waits: '◌', dead: '✕', free: '✓', fault: '✕', answered: '✓' } as const;
  return kind === 'stuck' ? '–' : marks[kind];
}

export const isUnanswered = (word: string): boolean =>
  word === 'no-answer' || word === 'answer-lost';

function textOf({ kind, word, of, orderId }: Row): string {
  if (kind === 'waits') return page.value.waits(word as Wait, of);
  if (kind === 'fault') return page.value.fault(word, of ?? '');
  if (kind === 'free') return page.value.words[word === 'settled' ? 'settled' : 'started'];
  if (kind === 'stuck') return page.value.cannotGo(word, of);
  const text = stepText(word);
  if (orderId && word === 'accepted') return `${text}, ${page.value.order(orderId)}`;
  return orderId && word === 'sold' ? `${text}: ${page.value.order(orderId)}` : text;
}

function evidenceOf({ kind, word, tookMs }: Row): string {
  if (kind === 'stuck' || kind === 'fault') return '';
  const place = kind === 'at' ? [word] : [];
  return [...place, ...(tookMs > 0 ? [`${tookMs.toFixed(0)} ms`] : [])].join(' · ');
}
