/** The sentences of what happened: of a row of lanes, of an event of a run, and all in order. */
import type { ComponentChildren } from 'preact';
import { placeWords } from '../../lab/play/place-words.ts';
import { markText } from '../../lab/report/fault-words.ts';
import { costSentences } from '../../lab/report/verdict-words.ts';
import { sum } from '../../lab/stage/counts.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import { instanceAt } from '../../lab/stage/place.ts';
import { textIn } from '../../lab/stage/result.ts';
import type { Row, Wait } from './play-model.ts';
import { markIn, type RunView, type ToldEvent } from './run-model.ts';
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
  ['resume', 'start', 'mend', 'renewed', 'started', 'resumed', 'healed'].includes(word);

function markOf({ kind, word, isWrong }: Row): Sentence['mark'] {
  if (isWrong) return '✗';
  if (['pause', 'paused', 'block'].includes(word)) return '∥';
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

export function toldSentence(event: ToldEvent): string {
  const { told } = page.value;
  switch (event.kind) {
    case 'service':
      return told.service(event.instances, event.network);
    case 'on-sale':
      return told.onSale(event.rung, event.stock);
    case 'note':
      return textIn(language.value, event.text);
    default:
      return markText(markIn(event), language.value);
  }
}

/** The number of faults, where there was a load, and what each load cost. */
export function costTexts({ verdict }: RunView): string[] {
  const { faults = {}, loads = [] } = verdict ?? {};
  const injected = sum(Object.values(faults));
  const counted = loads.length > 0 || injected > 0 ? [page.value.faultCount(injected)] : [];
  return [...counted, ...costSentences(loads, language.value)];
}

interface Entry {
  readonly kind: string;
  readonly seconds: string;
  readonly sentence: ComponentChildren;
  readonly evidence: readonly StageEvent[];
}

/** One plain sentence for each thing that happened, with the events that prove it behind a click. */
export const Feed = ({ isOpen, entries }: { isOpen: boolean; entries: readonly Entry[] }) => (
  <details class="feed" open={isOpen}>
    <summary>{page.value.words.feed}</summary>
    <ol>
      {entries.map(({ kind, seconds, sentence, evidence }, index) => (
        <li key={index} data-told={kind}>
          <details>
            <summary>
              <small>{seconds} s</small> {sentence}
            </summary>
            <pre class="code">{evidence.map((event) => `${JSON.stringify(event)}\n`).join('')}</pre>
          </details>
        </li>
      ))}
    </ol>
  </details>
);
