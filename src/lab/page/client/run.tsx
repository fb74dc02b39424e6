/** The view of a race whose steps are fixed: it plays itself on the real servers. */
import type { Proof } from '../../../audit/evidence.ts';
import { connection } from './api.ts';
import { Lanes } from './lanes.tsx';
import type { RaceView } from './race-model.ts';
import { go, show } from './route.ts';
import type { RunView } from './run-model.ts';
import {
  beginRun,
  famousRace,
  foretell,
  foretellings,
  foretoldOf,
  isAsked,
  nextRace,
  shownRace,
  shownRun,
  stopRun,
} from './run-store.ts';
import type { WantedRace } from './store.ts';
import { ladder, language, page } from './texts.ts';

export function RunOfRace({ wanted }: { wanted: WantedRace }) {
  const race = shownRace.value;
  const run = shownRun.value;
  const isLive = connection.value !== 'recorded';
  return (
    <main class="race run" data-over={run?.over !== undefined}>
      <Head wanted={wanted} race={race} />
      {isLive && foretoldOf(wanted) === undefined && !run && <Foretell wanted={wanted} />}
      {isLive && foretoldOf(wanted) !== undefined && !run && <BeginRun wanted={wanted} />}
      {race && <Lanes of={race} />}
      {run && <Progress run={run} race={race} />}
      {race?.judged && <JudgedRace wanted={wanted} race={race} />}
      {run?.over && <Afterwards wanted={wanted} run={run} />}
    </main>
  );
}

function Head({ wanted, race }: { wanted: WantedRace; race: RaceView | undefined }) {
  const title = race?.title ?? famousRace(wanted.race)?.title;
  const { name } = { name: wanted.rung };
  return (
    <>
      <div class="row wrap">
        <h1>{wanted.race}</h1>
        <b>{page.value.onRung(name)}</b>
        {race?.judged && <JudgedChip judged={race.judged} />}
      </div>
      <small>{title?.[language.value]}</small>
    </>
  );
}

function JudgedChip({ judged: { verdict, shows } }: { judged: NonNullable<RaceView['judged']> }) {
  const { words } = page.value;
  const [kind, text] = {
    violated: ['wrong', `✗ ${words.violated}: ${ladder.value.checks[shows]}`],
    held: ['held', `✓ ${words.heldPromise}: ${ladder.value.checks[shows]}`],
    unknown: ['so-far', `? ${words.cannotTell}`],
  }[verdict];
  return (
    <span class={`chip ${kind}`} data-verdict={verdict}>
      {text}
    </span>
  );
}

/** Nothing runs before. */
function Foretell({ wanted }: { wanted: WantedRace }) {
  const { words } = page.value;
  const texts = { held: words.doesNoHarm, violated: words.doesHarm };
  return (
    <section class="panel predict" aria-label={words.predictFirst}>
      <h2>{words.predictFirst}</h2>
      <p>{words.playsItself}</p>
      {foretellings.map((outcome, index) => (
        <button
          type="button"
          key={outcome}
          data-foretell={outcome}
          onClick={() => foretell(wanted, outcome)}
        >
          <kbd>{index + 1}</kbd> {texts[outcome]}
        </button>
      ))}
    </section>
  );
}

/** Its outcome was predicted in this visit. */
function BeginRun({ wanted }: { wanted: WantedRace }) {
  const { words } = page.value;
  if (isAsked(wanted)) return <p role="status">{words.preparing}</p>;
  return (
    <button type="button" class="next" data-retry onClick={() => void beginRun(wanted)}>
      {words.play}
    </button>
  );
}

/** What it does now, and how to stop it. */
function Progress({ run, race }: { run: RunView; race: RaceView | undefined }) {
  const { words } = page.value;
  if (run.over) return null;
  const text = run.verdict ? words.givingBack : race ? words.itPlays : words.preparing;
  return (
    <div class="row wrap">
      <span role="status">◌ {text}</span>
      <small>{run.notes.at(-1)}</small>
      {!run.verdict && (
        <button type="button" class="right" data-stop onClick={() => void stopRun()}>
          {words.stopIt}
        </button>
      )}
    </div>
  );
}

function JudgedRace({ wanted, race }: { wanted: WantedRace; race: RaceView }) {
  const { judged, rung } = race;
  if (!judged) return null;
  const { words, checkNames } = page.value;
  const foretold = foretoldOf(wanted);
  const { lesson } = ladder.value.rungs[rung as keyof typeof ladder.value.rungs] ?? {};
  return (
    <>
      <section class="panel outcome" aria-live="polite" data-judged={judged.verdict}>
        {foretold && (
          <span>
            <b>{words.predicted}</b> {foretold === 'held' ? words.doesNoHarm : words.doesHarm}
          </span>
        )}
        <span>
          <b>{words.audit}</b> <JudgedChip judged={judged} />{' '}
          {judged.isAsClaimed ? words.asClaimed : <b class="wrong-text">{words.notAsClaimed}</b>}
        </span>
        {foretold && <small>{foretold === judged.verdict ? words.right : words.notRight}</small>}
        {judged.alsoBroken.length > 0 && (
          <span>
            <b>{words.alsoBroken}</b>{' '}
            {checkNames(judged.alsoBroken.map((each) => ladder.value.checks[each]))}
          </span>
        )}
        {judged.evidence && <p>{judged.evidence}</p>}
      </section>
      {judged.proof && judged.proof.events.length > 0 && <ProofOfRace proof={judged.proof} />}
      {lesson && <p class="lesson">{lesson}</p>}
    </>
  );
}

/** The smallest set of events, and the rows that they left. */
function ProofOfRace({ proof: { events, rows } }: { proof: Proof }) {
  const { words, order, userOn } = page.value;
  const beganAt = Number(events[0]?.at ?? 0);
  return (
    <section class="panel proof" aria-label={words.proof}>
      <h2>{words.proof}</h2>
      <table class="state">
        <tbody>
          {events.map(({ at, instance, event, checkpoint, reason, userId, orderId }, index) => (
            <tr key={index}>
              <td>{((Number(at) - beganAt) / 1_000_000).toFixed(1)} ms</td>
              <td>
                <code>{{ checkpoint, refused: reason }[String(event)] ?? event}</code>
              </td>
              <td>
                {userOn(userId, instance)}, {order(orderId)}
              </td>
            </tr>
          ))}
          {rows.map(({ id, userId, status }) => (
            <tr key={id}>
              <td>{words.inMysql}</td>
              <td>
                <code>{status}</code>
              </td>
              <td>
                {userOn(userId, '')}, {order(id)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Its report, and what to play next. */
function Afterwards({ wanted, run: { over, verdict } }: { wanted: WantedRace; run: RunView }) {
  const { words } = page.value;
  const next = nextRace(wanted);
  const byHand = famousRace(wanted.race)?.byHand;
  return (
    <section class="row wrap" data-afterwards>
      {over?.because !== undefined && (
        <p class="wrong-text">
          {words.runFailed} {over.because}
        </p>
      )}
      {verdict?.verdict === 'unknown' && <p>{verdict.reasons.join('; ')}</p>}
      <button type="button" data-again onClick={() => void beginRun(wanted)}>
        {words.playAgain}
      </button>
      {next && (
        <button type="button" class="next" data-next onClick={() => show({ is: 'run', ...next })}>
          {page.value.onNextRung(next.rung)}
        </button>
      )}
      {byHand && (
        <button
          type="button"
          onClick={() => go({ rung: wanted.rung, lanes: 2, isFine: false, ...byHand })}
        >
          {words.playByHand}
        </button>
      )}
      {over?.folder !== undefined && (
        <small data-report>
          {words.report} <code>{over.folder}</code>
        </small>
      )}
    </section>
  );
}
