/** The same choices on two rungs, side by side. */
import { problem } from './api.ts';
import { BeginAgain, Outcomes, Predict } from './cards.tsx';
import { Lanes } from './lanes.tsx';
import { buyersIn, firstDifference, isDone, lettersOf, type PlayView } from './play-model.ts';
import { predictions } from './predictions.ts';
import { Proof } from './proof.tsx';
import { beside } from './route.tsx';
import { other, playBesideIt } from './store.ts';
import { page } from './texts.ts';

export function Compare({ one }: { one: PlayView }) {
  const two = other.value;
  const { words } = page.value;
  const next = beside.value;
  return (
    <main class="race">
      <div class="row wrap">
        <h1>{words.sameChoices}</h1>
        <small class="code">{lettersOf(one).split('').join(' ')}</small>
        <button type="button" class="right" data-close onClick={closeCompare}>
          {words.backToPlay}
          <kbd>Esc</kbd>
        </button>
      </div>
      <div class="both">
        <Side of={one} differsAt={two && firstDifference(one, two)} />
        {two ? (
          <Side of={two} differsAt={firstDifference(one, two)} />
        ) : (
          <section class="side" data-rung={next}>
            <b>{next}</b>
            {predictions.value.has(next) ? (
              <BeginAgain isOnItsWay={problem.value === null} onPlay={playBesideIt} />
            ) : (
              <Predict
                rung={next}
                lanes={buyersIn(one).length}
                choices={lettersOf(one)}
                isWhole={isDone(one)}
                onPredicted={playBesideIt}
              />
            )}
          </section>
        )}
      </div>
    </main>
  );
}

function Side({ of, differsAt }: { of: PlayView; differsAt: number | undefined }) {
  return (
    <section class="side" data-rung={of.rung}>
      <b>{of.rung}</b>
      <Lanes of={of} differsAt={differsAt} />
      <Outcomes of={of} />
      <Proof of={of} />
    </section>
  );
}

export function closeCompare(): void {
  beside.value = '';
}
