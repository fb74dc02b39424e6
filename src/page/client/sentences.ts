/** The sentence of a row: what a lane did. The same for its picture, its list and the feed. */
import { placeWords } from '../../lab/play/place-words.ts';
import { instanceAt } from '../../lab/stage/place.ts';
import type { Row, Wait } from './play-model.ts';
import { language, page, stepText } from './texts.ts';

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

/** A process or a server goes on. */
export const isAgain = (word: string): boolean =>
  ['resume', 'start', 'started', 'resumed', 'healed'].includes(word);

function markOf({ kind, word, isWrong }: Row): Sentence['mark'] {
  if (isWrong) return '✗';
  if (word === 'pause' || word === 'paused') return '∥';
  if (isAgain(word)) return '▶';
  if (isUnanswered(word)) return '✕';
  if (word === 'lock-service-unavailable') return '✕';
  const marks = { at: '●', waits: '◌', dead: '✕', free: '✓', fault: '✕', answered: '✓' } as const;
  return kind === 'stuck' ? '–' : marks[kind];
}

export const isUnanswered = (word: string): boolean =>
  word === 'no-answer' || word === 'answer-lost';

function textOf({ kind, word, of, orderId, step, isTold = false }: Row): string {
  if (step) return isTold ? step.says[language.value] : stepText(word);
  if (kind === 'waits') return page.value.waits(word as Wait, of);
  if (kind === 'fault') return page.value.fault(word, of ?? '');
  if (kind === 'free') return page.value.words[word === 'settled' ? 'settled' : 'started'];
  if (kind === 'stuck') return page.value.cannotGo(word, of);
  const text = stepText(word);
  if (orderId && word === 'accepted') return `${text}, ${page.value.order(orderId)}`;
  return orderId && word === 'sold' ? `${text}: ${page.value.order(orderId)}` : text;
}

function evidenceOf({ kind, word, tookMs, step }: Row): string {
  if (step) {
    const at = placeWords(step.place, language.value);
    return [at, instanceAt(step.place)].filter(Boolean).join(' · ');
  }
  if (kind === 'stuck' || kind === 'fault') return '';
  const place = kind === 'at' ? [word] : [];
  return [...place, ...(tookMs > 0 ? [`${tookMs.toFixed(0)} ms`] : [])].join(' · ');
}
