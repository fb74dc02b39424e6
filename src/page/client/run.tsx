/** The view of an experiment that plays itself on the real servers: a race, or a drill. */
import { rungsOfBreak } from '../../lab/by-hand/break-choice.ts';
import { type Bilingual, textIn } from '../../lab/stage/result.ts';
import { connection } from './api.ts';
import { Before } from './begin-run.tsx';
import { drillRows, famousRace } from './built-rows.ts';
import { Charts } from './charts.tsx';
import { Button } from './controls.tsx';
import { cursor, saveRun } from './event-log.ts';
import { Lanes } from './lanes.tsx';
import { msOf, type RaceView } from './play-model.ts';
import { predictions } from './predictions.ts';
import { type RunAddress, show } from './route.tsx';
import { type RunView, zeroOf } from './run-model.ts';
import { JudgedRaceCard, JudgedRun, RaceChip, RunChip, RunTables } from './run-report.tsx';
import { Counts, EndLoad, Locks, Quorum, Servers } from './sale.tsx';
import { PlayedScores } from './scoreboard.tsx';
import { Scrubber, ThePast } from './scrubber.tsx';
import { Feed, toldSentence } from './sentences.tsx';
import {
  beginRun,
  go,
  isEnding,
  nextRun,
  putRunAway,
  runName,
  shownRace,
  shownRun,
  stopRun,
} from './store.ts';
import { language, page } from './texts.ts';

export function Run({ wanted }: { wanted: RunAddress }) {
  const race = shownRace.value;
  const run = shownRun.value;
  const isNow = cursor.value === null;
  const isLive = connection.value !== 'recorded' && isNow;
  const predicted = isLive ? predictions.value.get(runName(wanted)) : undefined;
  return (
    <main class="race run" data-over={run?.over !== undefined}>
      <Head wanted={wanted} race={race} run={run} />
      {run && <ThePast zeroMs={zeroOf(run)} />}
      {isLive && !run && <Before wanted={wanted} predicted={predicted} />}
      {race && <Lanes of={race} />}
      {run && isNow && <Progress wanted={wanted} run={run} />}
      {run && !race?.judged && <JudgedRun of={run} predicted={predicted} />}
      {run && run.parts.length > 0 && (
        <div class="broken">
          <Servers run={run} isLive={isLive && !run.verdict} />
          <section>
            <Sales run={run} />
            <Charts run={run} />
            {!run.verdict && <AllLocks run={run} />}
          </section>
        </div>
      )}
      {race && <JudgedRaceCard of={race} predicted={predicted} />}
      {run && run.parts.length === 0 && hasLoad(run) && <Charts run={run} />}
      {run && <Scrubber />}
      {isLive && run?.over && <Afterwards wanted={wanted} run={run} />}
      {run && run.cells.length > 0 && <PlayedScores cells={run.cells} />}
      {run?.verdict && <RunTables run={run} hasRace={race !== undefined} />}
      {run && <Told run={run} />}
    </main>
  );
}

/** A race has lanes, and no load. */
const hasLoad = ({ told }: RunView): boolean => told.some(({ kind }) => kind === 'load-started');

interface RunProps {
  readonly wanted: RunAddress;
  readonly race: RaceView | undefined;
  readonly run: RunView | undefined;
}

function Head({ wanted, race, run }: RunProps) {
  const isRace = wanted.of === 'race';
  const about = aboutOf({ wanted, race, run });
  return (
    <>
      <div class="row wrap">
        <h1>{titleOf(wanted) || run?.experiment}</h1>
        {isRace && <b>{page.value.onRung(wanted.rung)}</b>}
        {isRace && race?.judged && <RaceChip judged={race.judged} />}
        {!isRace && run?.verdict && <RunChip verdict={run.verdict} />}
      </div>
      {about && <small>{about[language.value]}</small>}
    </>
  );
}

function titleOf(wanted: RunAddress): string {
  if (wanted.of === 'break') return page.value.breakOn([wanted.rung, wanted.beside ?? []].flat());
  return wanted.of === 'race' ? wanted.race : wanted.drill;
}

/** A load that somebody breaks says it in its title. */
function aboutOf({ wanted, race, run }: RunProps): Bilingual | undefined {
  if (wanted.of === 'break') return undefined;
  if (wanted.of === 'race') return race?.title ?? famousRace(wanted.race)?.title;
  return run?.about ?? drillRows.find(({ name }) => name === wanted.drill)?.about;
}

/** Of each rung, where its orders and its locks are. */
function Sales({ run }: { run: RunView }) {
  const rungs = rungsOfBreak(run.experiment);
  return (
    <div class="sales">
      {rungs.map((rung) => (
        <section key={rung} data-sale={rung}>
          {rungs.length > 1 && <h2>{rung}</h2>}
          <Counts run={run} rung={rung} />
          <Quorum run={run} rung={rung} />
        </section>
      ))}
    </div>
  );
}

/** Below the charts: they come and go. */
const AllLocks = ({ run }: { run: RunView }) => (
  <>
    {rungsOfBreak(run.experiment).map((rung) => (
      <Locks key={rung} run={run} rung={rung} />
    ))}
  </>
);

/** What it does now, and how to stop it. */
function Progress({ wanted, run }: { wanted: RunAddress; run: RunView }) {
  const { words } = page.value;
  if (run.over) return null;
  const isBreak = wanted.of === 'break';
  const note = isBreak ? undefined : run.told.findLast(({ kind }) => kind === 'note');
  const now = isBreak ? salesNow(run) : words.itPlays;
  return (
    <div class="row wrap">
      <span role="status" class={now === words.sellsNothing ? 'wrong-text' : ''}>
        ◌ {run.verdict ? words.givingBack : now}
      </span>
      <small>{note?.kind === 'note' && textIn(language.value, note.text)}</small>
      {!run.verdict && wanted.of === 'break' && <EndLoad />}
      {!run.verdict && wanted.of !== 'break' && (
        <Button class="right" data-stop onClick={() => void stopRun()}>
          {words.stopIt}
        </Button>
      )}
    </div>
  );
}

/** What the last second has shown. */
function salesNow({ told, seconds }: RunView): string {
  const { words } = page.value;
  if (isEnding.value || told.some(({ kind }) => kind === 'load-ended')) return words.auditing;
  const last = seconds.at(-1);
  if (!last) return words.preparing;
  return last.accepted > 0 ? words.itSells : words.sellsNothing;
}

/** Its report, and what to play next. */
function Afterwards({ wanted, run }: { wanted: RunAddress; run: RunView }) {
  const { words } = page.value;
  const { over } = run;
  const next = nextRun(wanted);
  const { rung, byHand } = wanted.of === 'race' ? { ...famousRace(wanted.race), ...wanted } : {};
  return (
    <section class="row wrap" data-afterwards>
      {over?.because !== undefined && (
        <p class="wrong-text">
          {words.runFailed} {over.because}
        </p>
      )}
      <Button data-again onClick={() => void beginRun(wanted)}>
        {words.playAgain}
      </Button>
      {wanted.of === 'break' && (
        <Button class="next" data-choose-again onClick={putRunAway}>
          {words.chooseAgain}
        </Button>
      )}
      <Button data-export onClick={() => void saveRun(run)}>
        {words.export}
      </Button>
      {next?.of === 'race' && (
        <Button class="next" data-next onClick={() => show({ is: 'run', ...next })}>
          {page.value.onNextRung(next.rung)}
        </Button>
      )}
      {byHand && rung && (
        <Button onClick={() => go({ rung, lanes: 2, stopsEverywhere: false, ...byHand })}>
          {words.playByHand}
        </Button>
      )}
      {over?.report?.folder !== undefined && (
        <small data-report>
          {words.report} <code>{over.report.folder}</code>
        </small>
      )}
    </section>
  );
}

const Told = ({ run }: { run: RunView }) => (
  <Feed
    isOpen={run.over === undefined}
    entries={run.told.map((event) => ({
      kind: event.kind,
      seconds: ((msOf(event) - zeroOf(run)) / 1_000).toFixed(1),
      sentence: toldSentence(event),
      evidence: [event],
    }))}
  />
);
