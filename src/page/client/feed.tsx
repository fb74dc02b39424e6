/** One plain sentence for each thing that happened; the events that prove it behind a click. */
import type { PlayView } from './model.ts';
import { rowSentence } from './sentences.ts';
import { page } from './texts.ts';

export function Feed({ of }: { of: PlayView }) {
  return (
    <details class="feed">
      <summary>{page.value.words.feed}</summary>
      <ol>
        {of.rows.map((row, index) => {
          const { mark, text, evidence } = rowSentence(row);
          return (
            <li key={index}>
              <details>
                <summary>
                  <small>{(row.atMs / 1_000).toFixed(3)} s</small> {mark} <b>{row.lane}</b> {text}{' '}
                  <small>{evidence}</small>
                </summary>
                <pre class="code">
                  {row.evidence.map((event) => `${JSON.stringify(event)}\n`).join('')}
                </pre>
              </details>
            </li>
          );
        })}
      </ol>
    </details>
  );
}
