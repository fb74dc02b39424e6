/** One plain sentence for each thing that happened, with the events that prove it behind a click. */

import type { ComponentChildren } from 'preact';
import type { StageEvent } from '../../lab/stage/events.ts';
import { page } from './texts.ts';

interface Entry {
  readonly kind: string;
  readonly seconds: string;
  readonly sentence: ComponentChildren;
  readonly evidence: readonly StageEvent[];
}

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
