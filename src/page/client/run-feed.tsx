/** One plain sentence for each thing that happened in a run, with its event behind a click. */
import { msOf } from './play-model.ts';
import { type RunView, zeroOf } from './run-model.ts';
import { toldSentence } from './run-sentences.ts';
import { page } from './texts.ts';

export function RunFeed({ run }: { run: RunView }) {
  return (
    <details class="feed" open={run.over === undefined}>
      <summary>{page.value.words.feed}</summary>
      <ol>
        {run.told.map((event) => (
          <li key={event.number} data-told={event.kind}>
            <details>
              <summary>
                <small>{((msOf(event) - zeroOf(run)) / 1_000).toFixed(1)} s</small>{' '}
                {toldSentence(event)}
              </summary>
              <pre class="code">{JSON.stringify(event)}</pre>
            </details>
          </li>
        ))}
      </ol>
    </details>
  );
}
