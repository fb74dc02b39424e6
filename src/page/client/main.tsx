/** The page: its head, its views, and its keys. */

import { effect, signal } from '@preact/signals';
import { render } from 'preact';
import { choicesIn } from '../../lab/play/letters.ts';
import { outcomesFor } from '../../lab/play/outcomes.ts';
import { recordedId } from '../../lab/report/replay-file.ts';
import type { StageEvent } from '../../lab/stage/events.ts';
import { connection, hadLab, isLearner, problem, room, send } from './api.ts';
import { Drills } from './begin-run.tsx';
import { copyLink } from './choices.tsx';
import { Button } from './controls.tsx';
import { followEvents, saveReplay, take } from './event-log.ts';
import { Ladder, playRung, selectedRow, selectRung } from './ladder.tsx';
import { buyersIn, isDone } from './play-model.ts';
import { predictByKey, predictedVerdicts } from './predictions.ts';
import { closeProof, proof } from './proof.tsx';
import { closeCompare, Race } from './race.tsx';
import { Join, Room, RoomLine } from './room.tsx';
import {
  addressOf,
  beside,
  Link,
  type PlayAddress,
  type RunAddress,
  show,
  type View,
  view,
  viewAt,
  wantedBreak,
} from './route.tsx';
import { Run } from './run.tsx';
import { Scoreboard } from './scoreboard.tsx';
import { Recording, recordedView } from './scrubber.tsx';
import {
  addressOfPlay,
  backTo,
  begin,
  beginRun,
  choose,
  compareNext,
  current,
  isRunning,
  nextRun,
  play,
  playBesideIt,
  putRunAway,
  runName,
  shownRun,
} from './store.ts';
import { changeLanguage, language, page } from './texts.ts';

function Page() {
  const wanted = view.value;
  return (
    <>
      <Head />
      <ProblemLine />
      {connection.value === 'recorded' && <Recording />}
      <RoomLine />
      <Shown wanted={wanted} />
    </>
  );
}

function Shown({ wanted }: { wanted: View }) {
  const { noPage, noPageIs, instructors, instructorsIs } = page.value.room;
  if (connection.value === 'no-key') return <NoKey />;
  if (connection.value === 'no-code') return <Join />;
  if (isClosed()) return <Closed />;
  if (wanted.is === 'nowhere') return <Signpost title={noPage}>{noPageIs(wanted.path)}</Signpost>;
  if (isLearner.value && !['ladder', 'race'].includes(wanted.is))
    return <Signpost title={instructors}>{instructorsIs}</Signpost>;
  if (wanted.is === 'race') return <Race wanted={wanted} />;
  if (wanted.is === 'run') return <Run wanted={wanted} />;
  if (wanted.is === 'ladder') return <Ladder chapter={wanted.chapter} />;
  if (wanted.is === 'room') return <Room />;
  return wanted.is === 'drills' ? <Drills /> : <Scoreboard />;
}

/** To a learner, until it is opened again. */
const isClosed = () => isLearner.value && room.value === null && connection.value !== 'no-code';

/** Where a viewer finds nothing: what happened, and where to go. */
const Signpost = ({ title, children }: { title: string; children: string }) => (
  <main>
    <h1>{title}</h1>
    <p>{children}</p>
    <p>
      <Link to={{ is: 'ladder', chapter: 2 }} data-to-ladder>
        {page.value.room.toLadder}
      </Link>
    </p>
  </main>
);

/** Until the room is opened again: then the page asks for its code. */
function Closed() {
  const { closed, closedIs } = page.value.room;
  return (
    <main data-closed>
      <h1>{closed}</h1>
      <p>{closedIs}</p>
    </main>
  );
}

/** In quotation marks: a shell would read the `?` and the `&` of an address itself. */
const NoKey = () => (
  <main>
    <h1>{page.value.words.noKey}</h1>
    <pre class="code">{`npx lockstep page '${location.pathname}${location.search}'`}</pre>
  </main>
);

interface NavLinkProps {
  readonly to: View;
  readonly isHere: boolean;
  readonly children: string;
}

const NavLink = ({ to, isHere, children }: NavLinkProps) => (
  <Link
    to={to}
    aria-current={isHere ? 'page' : undefined}
    onGo={() => {
      if (isHere) putRunAway();
      show(to);
    }}
  >
    {children}
  </Link>
);

function Head() {
  const { words } = page.value;
  const wanted = view.value;
  const isRace = wanted.is === 'race' || (wanted.is === 'run' && wanted.of === 'race');
  const isLive = connection.value !== 'recorded';
  const isKnown = connection.value !== 'entering'; // Else a learner would see them, too.
  const isPlaying = play.value !== undefined && !play.value.ended;
  const mayGiveBack = isLive && !isLearner.value;
  const isHeld = hadLab.value || held.includes(problem.value?.code ?? '');
  return (
    <header>
      <b>Lockstep</b>
      {isLive && !isClosed() && (
        <nav>
          <NavLink
            to={{ is: 'ladder', chapter: selectedChapter() }}
            isHere={wanted.is === 'ladder'}
          >
            {words.ladder}
          </NavLink>
          {isRace && <span aria-current="page">{words.race}</span>}
          {isKnown && !isLearner.value && <InstructorsLinks wanted={wanted} />}
          <a href={`/workshop?language=${language.value}`}>{words.workshop}</a>
          <a href={words.docsAt}>{words.docs}</a>
        </nav>
      )}
      <span class="right">
        <Connected />
        {mayGiveBack && (isPlaying || isHeld || isRunning.value) && (
          <Button data-give-back onClick={() => void giveBack()}>
            {isGivingBack.value ? words.givingBack : words.giveBack}
          </Button>
        )}
        <Button data-language onClick={changeLanguage}>
          {words.language}
        </Button>
      </span>
    </header>
  );
}

function InstructorsLinks({ wanted }: { wanted: View }) {
  const { words } = page.value;
  const isBreak = wanted.is === 'run' && wanted.of === 'break';
  const isDrill = wanted.is === 'drills' || (wanted.is === 'run' && wanted.of === 'drill');
  const breakIt = wantedBreak(current.value?.rung ?? 'redlock');
  return (
    <>
      <NavLink to={{ is: 'run', ...breakIt }} isHere={isBreak}>
        {words.breakIt}
      </NavLink>
      <NavLink to={{ is: 'drills' }} isHere={isDrill}>
        {words.drills}
      </NavLink>
      <NavLink to={{ is: 'scoreboard' }} isHere={wanted.is === 'scoreboard'}>
        {words.scoreboard}
      </NavLink>
      <NavLink to={{ is: 'room' }} isHere={wanted.is === 'room'}>
        {page.value.room.room}
      </NavLink>
    </>
  );
}

/** Another play, or a race, has what this one needs. */
const held = ['WORKER_HELD', 'PROCESS_PAUSED', 'PLAYS_GO_ON', 'RUN_GOES_ON'];
const isGivingBack = signal(false);

/** A command of the terminal can have the lab then. */
async function giveBack(): Promise<void> {
  isGivingBack.value = true;
  await send('DELETE', '/api/plays');
  hadLab.value = false;
  isGivingBack.value = false;
  show({ is: 'ladder', chapter: 2 });
}

function Connected() {
  const { words } = page.value;
  const state = connection.value;
  if (state === 'no-key' || state === 'no-code' || isClosed()) return null; // The view says it.
  const text = { open: '●', lost: '✕', recorded: '■', entering: '◌' }[state];
  return (
    <small role="status" data-connection={state}>
      {text} {words[state]}
    </small>
  );
}

function ProblemLine() {
  if (problem.value === null) return null;
  const { code, title } = problem.value;
  const texts: Readonly<Record<string, string>> = page.value.problem;
  return (
    <p class="problem" role="alert" data-problem={code}>
      ✗ {texts[code] ?? title} {code === 'LAB_BUSY' && <small>{title}</small>}
    </p>
  );
}

const selectedChapter = (): number => (view.value.is === 'ladder' ? view.value.chapter : 2);

const inRace: Readonly<Record<string, () => void>> = {
  backspace: () => backTo((current.value?.choices.length ?? 0) - 1),
  n: compareNext,
  l: () => void copyLink(),
  f: () => {
    if (current.value) void saveReplay(current.value);
  },
  escape: () => {
    if (proof.value) closeProof();
    else closeCompare();
  },
};

const onLadder: Readonly<Record<string, () => void>> = {
  arrowdown: () => selectRung(selectedChapter(), 1),
  arrowup: () => selectRung(selectedChapter(), -1),
  enter: () => {
    const row = selectedRow(selectedChapter());
    if (row) playRung(row);
  },
};

/** A letter of a fault waits for the one of its lane, or for the number of its server. */
let faultLetter = '';

/** A key there is a letter of a word, or moves a choice. */
const typedInto = 'input:not([type=checkbox]), textarea, select, [contenteditable]';
const pressed = 'a, button, summary, input';

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key === 'Shift') return; // Of a capital letter.
  const isIn = (what: string) => event.target instanceof Element && event.target.closest(what);
  if (isIn(typedInto)) return;
  if (isIn(pressed) && !isIn('[data-rung]') && [' ', 'Enter'].includes(event.key)) return;
  if (connection.value === 'recorded') return;
  const key = event.key.toLowerCase();
  if (view.value.is === 'race') onRaceKey(key, view.value);
  else if (view.value.is === 'run') onRunKey(key, view.value);
  else if (view.value.is === 'ladder' && onLadder[key]) {
    event.preventDefault();
    onLadder[key]();
  }
}

function onRaceKey(key: string, wanted: PlayAddress): void {
  const of = current.value;
  const isBeside = beside.value !== '';
  const choice = faultLetter + key.toUpperCase();
  const isChoice = !isBeside && of && choicesIn(choice) !== null;
  faultLetter = !isChoice && 'xpzretushogikm'.includes(key) ? key.toUpperCase() : '';
  const outcomes = of
    ? outcomesFor(buyersIn(of).length, isDone(of))
    : outcomesFor(wanted.lanes, false);
  if (isChoice) choose(choice);
  else if (isBeside && predictByKey(key, beside.value, outcomes)) playBesideIt();
  else if (!of && predictByKey(key, wanted.rung, outcomes)) void begin(wanted);
  else inRace[key]?.();
}

function onRunKey(key: string, wanted: RunAddress): void {
  const next = nextRun(wanted);
  const hasQuestion = !isLearner.value && !shownRun.value && wanted.of !== 'break';
  const mayPredict = hasQuestion && connection.value === 'open';
  if (mayPredict && predictByKey(key, runName(wanted), predictedVerdicts)) void beginRun(wanted);
  else if (key === 'n' && shownRun.value && next && !isRunning.value) show({ is: 'run', ...next });
}

async function startLive(): Promise<void> {
  view.value = viewAt(location);
  addEventListener('keydown', onKey);
  addEventListener('popstate', () => {
    beside.value = '';
    view.value = viewAt(location);
  });
  effect(() => {
    const of = current.value;
    if (of?.isStill)
      history.replaceState(null, '', addressOf({ is: 'race', ...addressOfPlay(of) }));
  });
  await followEvents();
}

function startRecorded(text: string): void {
  connection.value = 'recorded';
  for (const event of JSON.parse(text) as StageEvent[]) take(event);
  const showIt = () => {
    view.value = recordedView();
  };
  addEventListener('hashchange', showIt);
  showIt();
}

effect(() => {
  document.documentElement.lang = language.value;
});
const root = document.getElementById('page');
if (root) render(<Page />, root);
const recorded = document.getElementById(recordedId)?.textContent;
if (recorded) startRecorded(recorded);
else await startLive();
