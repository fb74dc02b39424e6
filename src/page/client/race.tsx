/** The Race view: the viewer is the scheduler, of one rung or of two side by side. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { notRead, type Reading } from '../../lab/stage/events.ts';
import { connection, isBusy, problem } from './api.ts';
import { ladderRow, nextRow, type Source } from './built-rows.ts';
import { AllOrders, BeginAgain, Outcomes, PlayChip, Predict } from './cards.tsx';
import { ChoicesStrip, Ends } from './choices.tsx';
import { Button } from './controls.tsx';
import { clockMs } from './event-log.ts';
import { mayPlay } from './faults.ts';
import { Lanes } from './lanes.tsx';
import {
  buyersIn,
  firstDifference,
  isDone,
  type LaneView,
  lettersOf,
  nameOfReading,
  type PlayView,
} from './play-model.ts';
import { predictions } from './predictions.ts';
import { Proof } from './proof.tsx';
import { beside, type PlayAddress } from './route.tsx';
import { Feed, rowSentence } from './sentences.tsx';
import { begin, compareNext, current, isReady, other, playBesideIt, wasLeft } from './store.ts';
import { ladder, language, page } from './texts.ts';

/** On a phone, one of the two is shown. */
const tab = signal<'lanes' | 'state'>('lanes');

export function Race({ wanted }: { wanted: PlayAddress }) {
  const of = current.value;
  const isPredicted = of !== undefined || predictions.value.has(wanted.rung);
  if (of && beside.value !== '') return <Compare one={of} />;
  return (
    <main class="race" data-still={isReady.value}>
      <Head wanted={wanted} of={of} />
      {!isPredicted && <Predict {...wanted} onPredicted={() => void begin(wanted)} />}
      {isPredicted && !of && <Preparing wanted={wanted} />}
      {of && <Play of={of} wanted={wanted} />}
    </main>
  );
}

function Head({ wanted, of }: { wanted: PlayAddress; of: PlayView | undefined }) {
  const { words, aim } = page.value;
  const row = ladderRow(wanted.rung);
  const next = nextRow(wanted.rung);
  const asked = of?.planned ?? wanted.choices;
  const race = row?.races.find(({ byHand }) => byHand?.choices === asked);
  return (
    <>
      <div class="row wrap">
        <h1>{wanted.rung}</h1>
        {of && <PlayChip of={of} />}
        {of && next && mayPlay(next) && connection.value !== 'recorded' && (
          <Button class="right" data-compare shortcut="N" onClick={compareNext}>
            {words.nextRung}
          </Button>
        )}
      </div>
      <small>
        {race && (
          <>
            <b>{race.name}</b>: {race.title[language.value]} ·{' '}
          </>
        )}
        {row && ladder.value.rungs[row.name].idea}
        {of && row?.canAim && ` · ${aim(row.sale)}`}
      </small>
    </>
  );
}

/** The address asks for a play, and its outcome was predicted in this visit. */
function Preparing({ wanted }: { wanted: PlayAddress }) {
  const isFree = connection.value === 'open' && !isBusy.value && problem.value === null;
  const isOver = wasLeft.value;
  useEffect(() => {
    if (isFree && !isOver) void begin(wanted);
  }, [wanted, isFree, isOver]);
  return (
    <BeginAgain
      isOnItsWay={problem.value === null && !isOver}
      because={isOver ? page.value.words.over : ''}
      onPlay={() => void begin(wanted)}
    />
  );
}

function Play({ of, wanted }: { of: PlayView; wanted: PlayAddress }) {
  return (
    <>
      {of.ended && (
        <BeginAgain
          isOnItsWay={false}
          because={page.value.words.failed}
          onPlay={() => void begin(wanted)}
        />
      )}
      <PhoneTabs />
      <div class="play">
        <section class={tab.value === 'state' ? 'hide-on-phone' : ''}>
          <Lanes of={of} />
          {of.rows.length === 0 && <p class="dim">{page.value.words.nothing}</p>}
          {connection.value !== 'recorded' && <Ends of={of} />}
        </section>
        <aside class={`panel ${tab.value === 'lanes' ? 'hide-on-phone' : ''}`}>
          <TrueNow of={of} />
          <Code of={of} />
          <AllOrders of={of} />
        </aside>
      </div>
      <Outcomes of={of} />
      <Proof of={of} />
      <ChoicesStrip of={of} />
      <Told of={of} />
    </>
  );
}

function PhoneTabs() {
  const { words } = page.value;
  return (
    <div class="phone-tabs" role="tablist">
      {(['lanes', 'state'] as const).map((name) => (
        <Button
          role="tab"
          key={name}
          aria-selected={tab.value === name}
          onClick={() => {
            tab.value = name;
          }}
        >
          {words[name]}
        </Button>
      ))}
    </div>
  );
}

const Told = ({ of }: { of: PlayView }) => (
  <Feed
    isOpen={false}
    entries={of.rows.map((row) => {
      const { mark, text, evidence } = rowSentence(row);
      return {
        kind: row.kind,
        seconds: (row.atMs / 1_000).toFixed(3),
        evidence: row.evidence,
        sentence: (
          <>
            {mark} <b>{row.lane}</b> {text} <small>{evidence}</small>
          </>
        ),
      };
    })}
  />
);

/** The same choices on two rungs, side by side. */
function Compare({ one }: { one: PlayView }) {
  const two = other.value;
  const { words } = page.value;
  const next = beside.value;
  return (
    <main class="race">
      <div class="row wrap">
        <h1>{words.sameChoices}</h1>
        <small class="code">{lettersOf(one).split('').join(' ')}</small>
        <Button class="right" data-close shortcut="Esc" onClick={closeCompare}>
          {words.backToPlay}
        </Button>
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
      <AllOrders of={of} />
      <Proof of={of} />
    </section>
  );
}

export function closeCompare(): void {
  beside.value = '';
}

const isOfData = ({ id }: Reading): boolean => !['mutex', 'node', 'key'].includes(id);

function TrueNow({ of }: { of: PlayView }) {
  const data = of.readings.filter(isOfData);
  const locks = of.readings.filter((reading) => !isOfData(reading));
  return (
    <>
      <h2>{page.value.words.trueNow}</h2>
      <table class="state">
        <tbody>
          {locks.map((reading) => (
            <ReadingRow key={nameOfReading(reading)} reading={reading} of={of} />
          ))}
          <Quorum of={of} />
          {data.map((reading) => (
            <ReadingRow key={nameOfReading(reading)} reading={reading} of={of} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function ReadingRow({ reading, of }: { reading: Reading; of: PlayView }) {
  const isChanged = of.changed.has(nameOfReading(reading));
  return (
    <tr class={isChanged ? 'changed' : ''} data-reading={reading.id}>
      <td>{page.value.readings[reading.id](reading.of)}</td>
      <td>
        <Value reading={reading} stock={of.stock} />
        {isChanged && ' ←'}
        {reading.leftMs !== undefined && <Left leftMs={reading.leftMs} sinceMs={of.readAtMs} />}
      </td>
    </tr>
  );
}

function Value({ reading: { id, value, lane }, stock }: { reading: Reading; stock: number }) {
  const { words, heldBy, order } = page.value;
  if (id === 'stock-mysql' || id === 'stock-redis') return <>{`${value || '–'} / ${stock}`}</>;
  if (id === 'orders' || id === 'on-its-way')
    return <>{value === '' ? words.none : value.split(' ').map(order).join(', ')}</>;
  if (value === notRead) return <>{words.noAnswer}</>;
  if (value === '') return <>{words.free}</>;
  return (
    <>
      {lane && <b>{heldBy(lane)}</b>} {id === 'key' && <code>{shortened(value)}</code>}
    </>
  );
}

const shortened = (text: string): string => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

/** The time to live of the key, which runs down. */
function Left({ leftMs, sinceMs }: { leftMs: number; sinceMs: number }) {
  const passedMs = connection.value === 'recorded' ? 0 : clockMs.value - sinceMs;
  const seconds = Math.max(0, leftMs - passedMs) / 1_000;
  return <small> {page.value.seconds(seconds.toFixed(0))}</small>;
}

/** Of a lock on several masters: on how many of them the owner has it. */
function Quorum({ of }: { of: PlayView }) {
  const keys = of.readings.filter(({ id }) => id === 'key');
  if (keys.length < 2) return null;
  const values = keys.map(({ value }) => value).filter((value) => value !== notRead);
  const owners = values.filter(Boolean);
  const most = Math.max(0, ...owners.map((own) => owners.filter((each) => each === own).length));
  const needed = ladderRow(of.rung)?.lockNeeded ?? keys.length;
  const { quorum, answer } = page.value;
  const text =
    most > 0 ? quorum(most, needed, keys.length) : answer(values.length, needed, keys.length);
  return (
    <tr>
      <td>{''}</td>
      <td>{text}</td>
    </tr>
  );
}

const byArrival = (one: LaneView, other: LaneView): number => other.sinceMs - one.sinceMs;

/** Around the place of the lane that came to a stop last. */
function Code({ of }: { of: PlayView }) {
  const standing = [...of.lanes.values()].filter(({ state }) => state === 'at').sort(byArrival);
  const [last] = standing;
  const source = ladderRow(of.rung)?.sources[last?.checkpoint ?? ''];
  if (!last || !source) return null;
  const here = standing.filter(({ checkpoint }) => checkpoint === last.checkpoint);
  return (
    <>
      <h2>{page.value.words.theCode}</h2>
      <SourceLines source={source} lanes={here.map(({ name }) => name).join(' ')} />
    </>
  );
}

export function SourceLines({ source, lanes = '' }: { source: Source; lanes?: string }) {
  return (
    <>
      <pre class="code">
        {source.lines.map((text, index) =>
          index === source.mark ? (
            <b key={index}>{`${lanes && `● ${lanes} `}${text}\n`}</b>
          ) : (
            `${text}\n`
          ),
        )}
      </pre>
      <small>
        {source.file}:{source.line}
      </small>
    </>
  );
}
