/** The Race view: the viewer is the scheduler. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { connection, isBusy, problem } from './api.ts';
import { Outcomes, Predict, Proof, Verdict } from './cards.tsx';
import { Feed } from './feed.tsx';
import { ladderRow, nextRow } from './ladder-rows.ts';
import { Lanes } from './lanes.tsx';
import { firstDifference, isOver, type LaneView, lettersOf, type PlayView } from './model.ts';
import { predictions } from './predictions.ts';
import { go, linkTo } from './route.ts';
import { saveReplay } from './save-replay.ts';
import { Code, TrueNow } from './state.tsx';
import {
  backTo,
  begin,
  beside,
  branchTo,
  choose,
  compareNext,
  current,
  other,
  playBesideIt,
  tried,
  type Wanted,
} from './store.ts';
import { ladder, page } from './texts.ts';

/** On a phone, one of the two is shown. */
const tab = signal<'lanes' | 'state'>('lanes');
const isCopied = signal(false);

export function Race({ wanted }: { wanted: Wanted }) {
  const of = current.value;
  const isPredicted = of !== undefined || predictions.value.has(wanted.rung);
  if (of && beside.value !== '') return <Compare one={of} />;
  return (
    <main class="race" data-still={of?.isStill}>
      <Head wanted={wanted} of={of} />
      {!isPredicted && (
        <Predict rung={wanted.rung} lanes={wanted.lanes} onPredicted={() => void begin(wanted)} />
      )}
      {isPredicted && !of && <Preparing wanted={wanted} />}
      {of && <Play of={of} />}
    </main>
  );
}

function Head({ wanted, of }: { wanted: Wanted; of: PlayView | undefined }) {
  const { words, aim } = page.value;
  const row = ladderRow(wanted.rung);
  return (
    <>
      <div class="row wrap">
        <h1>{wanted.rung}</h1>
        {of && <Verdict of={of} />}
        {of && nextRow(wanted.rung) && connection.value !== 'recorded' && (
          <button type="button" class="right" data-compare onClick={compareNext}>
            {words.nextRung}
            <kbd>N</kbd>
          </button>
        )}
      </div>
      <small>
        {row && ladder.value.rungs[row.name].idea}
        {of && row && row.breaks.length > 0 && ` · ${aim(row.onePerUser)}`}
      </small>
    </>
  );
}

/** The address asks for a play, and its outcome was predicted in this visit. */
function Preparing({ wanted }: { wanted: Wanted }) {
  useEffect(() => {
    if (connection.value === 'open' && !isBusy.value) void begin(wanted);
  }, [wanted]);
  if (problem.value === null) return <p role="status">{page.value.words.preparing}</p>;
  return (
    <button type="button" class="next" data-retry onClick={() => void begin(wanted)}>
      {page.value.words.play}
    </button>
  );
}

function Play({ of }: { of: PlayView }) {
  return (
    <>
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
        </aside>
      </div>
      <Outcomes of={of} />
      <Proof of={of} />
      <Choices of={of} />
      <Feed of={of} />
    </>
  );
}

function PhoneTabs() {
  const { words } = page.value;
  return (
    <div class="phone-tabs" role="tablist">
      {(['lanes', 'state'] as const).map((name) => (
        <button
          type="button"
          role="tab"
          key={name}
          aria-selected={tab.value === name}
          onClick={() => {
            tab.value = name;
          }}
        >
          {words[name]}
        </button>
      ))}
    </div>
  );
}

/** At the end of each lane: what it will do next, or why it cannot go. */
function Ends({ of }: { of: PlayView }) {
  const lanes = [...of.lanes.values()];
  return (
    <div class="thumb">
      <div class={`ends of-${lanes.length}`}>
        {lanes.map((lane) => (
          <End key={lane.name} lane={lane} of={of} />
        ))}
      </div>
      <Faults of={of} />
    </div>
  );
}

/** What can be broken at this moment, each with its letters. */
function faultsOf({ lanes, readings, rung }: PlayView): [choice: string, text: string][] {
  const { kill, endLease, stop, start } = page.value;
  const standing = [...lanes.values()].filter(({ state }) => state === 'at');
  const leases = readings.filter(({ id, leftMs }) => id === 'key' && leftMs !== undefined);
  const owners = new Set(leases.flatMap(({ lane }) => (lane === undefined ? [] : [lane])));
  const masters = (ladderRow(rung)?.lockServers ?? []).filter((name) => /^redis-\d$/.test(name));
  const isAway = (server: string) =>
    readings.some(({ of, value }) => of === server && value === '?');
  return [
    ...standing.map(({ name, instance }): [string, string] => [`X${name}`, kill(instance)]),
    ...[...owners].map((name): [string, string] => [`E${name}`, endLease(name)]),
    ...masters.map((server): [string, string] =>
      isAway(server) ? [`H${server.at(-1)}`, start(server)] : [`S${server.at(-1)}`, stop(server)],
    ),
  ];
}

function Faults({ of }: { of: PlayView }) {
  const faults = isOver(of) ? [] : faultsOf(of);
  if (faults.length === 0) return null;
  return (
    <div class="row wrap faults">
      <small>{page.value.words.orBreak}</small>
      {faults.map(([choice, text]) => (
        <button
          type="button"
          class="fault"
          key={choice}
          data-fault={choice}
          disabled={!of.isStill}
          onClick={() => choose(choice)}
        >
          {text}
          <kbd>{choice.split('').join(' ')}</kbd>
        </button>
      ))}
    </div>
  );
}

function End({ lane, of }: { lane: LaneView; of: PlayView }) {
  const { name, state, checkpoint, waitsOn = 'lock', waitsFor } = lane;
  const { next, waits } = page.value;
  if (state === 'waits')
    return (
      <p class="wait-text" data-waits={name}>
        ◌ {name} {waits(waitsOn, waitsFor)}
      </p>
    );
  if (state === 'answered' || state === 'dead')
    return <p class="dim">{`${state === 'dead' ? '✕' : '✓'} ${name}`}</p>;
  const row = ladderRow(of.rung);
  const place = state === 'idle' ? 'idle' : (checkpoint ?? '');
  return (
    <button
      type="button"
      class="next"
      data-lane={name}
      disabled={!of.isStill}
      onClick={() => choose(name)}
    >
      {name} {next(place, row?.hasLock ?? false, row?.onePerUser ?? true)}
      <kbd>{name}</kbd>
    </button>
  );
}

/** The row of choices is the schedule, the link, the command and the replay. */
function Choices({ of }: { of: PlayView }) {
  const { words } = page.value;
  const count = of.choices.length;
  const isLive = connection.value !== 'recorded';
  return (
    <section class="strip" aria-label={words.choices}>
      <small>{words.choices}</small>
      {of.choices.map(({ choice, isTaken }, index) => (
        <button
          type="button"
          key={index}
          aria-label={`${index + 1}: ${choice}`}
          class={`step ${index === count - 1 ? 'now' : ''} ${isTaken ? '' : 'stuck'}`}
          disabled={!isLive}
          onClick={() => backTo(index + 1)}
        >
          {choice}
        </button>
      ))}
      {isLive && (
        <button
          type="button"
          data-back
          disabled={count === 0 || !of.isStill}
          onClick={() => backTo(count - 1)}
        >
          {words.back}
          <kbd>⌫</kbd>
        </button>
      )}
      {isLive && <Tree of={of} />}
      {isLive && <Sharing of={of} />}
    </section>
  );
}

/** Every branch that was tried on this rung: the longest choices of each. */
function Tree({ of }: { of: PlayView }) {
  const all = [...(tried.value.get(of.rung) ?? [])];
  const own = lettersOf(of);
  const leaves = all.filter(
    (choices) =>
      choices !== own && !all.some((each) => each !== choices && each.startsWith(choices)),
  );
  if (leaves.length === 0) return null;
  return (
    <span class="tree">
      <small>{page.value.words.tree}</small>
      {leaves.slice(-4).map((choices) => (
        <button type="button" key={choices} data-branch={choices} onClick={() => branchTo(choices)}>
          {choices}
        </button>
      ))}
    </span>
  );
}

function Sharing({ of }: { of: PlayView }) {
  const { words } = page.value;
  return (
    <span class="row wrap right">
      <button type="button" data-link onClick={() => void copyLink()}>
        {isCopied.value ? words.copied : words.copyLink}
        <kbd>L</kbd>
      </button>
      <button type="button" data-export onClick={() => void saveReplay(of)}>
        {words.export}
        <kbd>F</kbd>
      </button>
      <details class="more">
        <summary>…</summary>
        <More of={of} />
      </details>
    </span>
  );
}

function More({ of }: { of: PlayView }) {
  const { words } = page.value;
  const wanted = linkTo(of);
  const command = `npx lockstep race --choices ${lettersOf(of) || 'A'} --rung ${of.rung}`;
  return (
    <div class="panel">
      <small>{words.terminal}</small>
      <pre class="code">{command}</pre>
      <div class="row wrap">
        {of.lanes.size < 4 && (
          <button
            type="button"
            onClick={() => go({ ...wanted, choices: '', lanes: of.lanes.size + 1 })}
          >
            {words.moreBuyers}
          </button>
        )}
        <button
          type="button"
          onClick={() => go({ ...wanted, choices: '', isFine: !wanted.isFine })}
        >
          {wanted.isFine ? words.stopsOnly : words.everyCheckpoint}
        </button>
      </div>
    </div>
  );
}

export async function copyLink(): Promise<void> {
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  isCopied.value = true;
  setTimeout(() => {
    isCopied.value = false;
  }, 1_500);
}

function Compare({ one }: { one: PlayView }) {
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
              <p role="status">{words.preparing}</p>
            ) : (
              <Predict rung={next} lanes={one.lanes.size} onPredicted={playBesideIt} />
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
