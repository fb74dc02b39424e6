/** Before a run: the drills to choose from, the load to choose, and what is predicted. */

import { arrivals, whyNot } from '../../lab/by-hand/break-choice.ts';
import { connection, isBusy } from './api.ts';
import { drillRows, ladderRows } from './built-rows.ts';
import { BeginAgain, PredictCard } from './cards.tsx';
import { Button, Select } from './controls.tsx';
import { liveWorld } from './event-log.ts';
import { type Prediction, predict, predictedVerdicts } from './predictions.ts';
import { type BreakAddress, Link, type RunAddress, show } from './route.tsx';
import { beginRun, isAsked, isRunning, runName, stopRun } from './store.ts';
import { language, page } from './texts.ts';

export function Drills() {
  const { words } = page.value;
  return (
    <main>
      <h1>{words.drills}</h1>
      <p>{words.drillsAre}</p>
      <table class="rungs drills">
        <tbody>
          {drillRows.map(({ name, about }) => {
            const wanted = { is: 'run', of: 'drill', drill: name, minutes: 0.5, seed: 1 } as const;
            return (
              <tr key={name}>
                <td>
                  <Link to={wanted} data-drill={name}>
                    {name}
                  </Link>
                </td>
                <td>{about[language.value]}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </main>
  );
}

interface BeforeProps {
  readonly wanted: RunAddress;
  readonly predicted: Prediction | undefined;
}

export function Before({ wanted, predicted }: BeforeProps) {
  if (predicted || isAsked(wanted))
    return <BeginAgain isOnItsWay={isAsked(wanted)} onPlay={() => void beginRun(wanted)} />;
  return wanted.of === 'break' ? (
    <ChooseBreak wanted={wanted} />
  ) : (
    <PredictVerdict wanted={wanted} />
  );
}

function PredictVerdict({ wanted }: { wanted: RunAddress }) {
  const { words } = page.value;
  return (
    <PredictCard
      outcomes={predictedVerdicts}
      isDisabled={connection.value !== 'open'}
      onPredicted={(outcome) => {
        predict(runName(wanted), outcome);
        void beginRun(wanted);
      }}
    >
      <p>{wanted.of === 'race' ? words.playsItself : words.drillPlaysItself}</p>
      <OtherRun wanted={wanted} />
    </PredictCard>
  );
}

const rates = [20, 100, 400, 1_000, 2_000] as const;

/** The address is the choice. */
function ChooseBreak({ wanted }: { wanted: BreakAddress }) {
  const { words } = page.value;
  const because = whyNot(wanted);
  const change = (more: Partial<BreakAddress>) => show({ is: 'run', ...wanted, ...more });
  return (
    <section class="panel predict">
      <p>{words.breakItIs}</p>
      <Select
        data-choose="rung"
        {...{ name: words.rung, value: wanted.rung, options: rungOptions }}
        onChosen={(rung) => change({ rung })}
      />
      <Select
        data-choose="beside"
        {...{ name: words.beside, value: wanted.beside ?? '' }}
        options={[['', words.noRungBeside], ...rungOptions]}
        onChosen={(beside) => change({ beside: beside === '' ? undefined : beside })}
      />
      <Select
        data-choose="arrivals"
        {...{ name: words.arrivals, value: wanted.arrivals }}
        options={arrivals.map((each) => [each, page.value.arrivals[each]])}
        onChosen={(chosen) =>
          change({ arrivals: arrivals.find((each) => each === chosen) ?? 'steady' })
        }
      />
      <Select
        data-choose="rate"
        {...{ name: words.rate, value: String(wanted.perSecond) }}
        options={ratesWith(wanted.perSecond).map((rate) => [
          String(rate),
          rate.toLocaleString('en-US'),
        ])}
        onChosen={(rate) => change({ perSecond: Number(rate) })}
      />
      {because && <p class="wrong-text">{words[because]}</p>}
      <OtherRun wanted={wanted} />
      <Button
        class="next"
        data-begin
        disabled={isBusy.value || connection.value !== 'open' || because !== null}
        onClick={() => void beginRun(wanted)}
      >
        {words.beginLoad}
      </Button>
    </section>
  );
}

/** The address may have another one. */
const ratesWith = (wanted: number): number[] =>
  [...new Set([...rates, wanted])].sort((one, other) => one - other);

const rungOptions = ladderRows.map(({ name }) => [name, name] as const);

/** Another run has the lab: nothing begins before it ends. */
function OtherRun({ wanted }: { wanted: RunAddress }) {
  const { experiment } = liveWorld.value.run ?? {};
  if (!isRunning.value || experiment === undefined || experiment === runName(wanted)) return null;
  return (
    <p class="wrong-text" role="status" data-other-run>
      {page.value.otherRun(experiment)}{' '}
      <Button onClick={() => void stopRun()}>{page.value.words.stopIt}</Button>
    </p>
  );
}
