/** What a race has shown: the verdict on the promise that it is about, and the proof. */

import type { Proof } from '../../service/audit/evidence.ts';
import type { Verdict } from '../../service/domain.ts';
import { isRung } from './ladder-rows.ts';
import type { RaceView } from './race-model.ts';
import type { PredictedVerdict } from './run-store.ts';
import { ladder, language, page } from './texts.ts';

export function JudgedChip({ judged }: { judged: NonNullable<RaceView['judged']> }) {
  const { words } = page.value;
  const { verdict, shows } = judged;
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

interface Judged {
  readonly race: RaceView;
  readonly predicted: PredictedVerdict | undefined;
}

export function JudgedRace({ race: { judged, rung }, predicted }: Judged) {
  if (!judged) return null;
  const { words, checkNames } = page.value;
  const also = judged.alsoBroken.map((each) => ladder.value.checks[each]);
  return (
    <>
      <section class="panel outcome" aria-live="polite" data-judged={judged.verdict}>
        {predicted && <Predicted predicted={predicted} />}
        <span>
          <b>{words.audit}</b> <JudgedChip judged={judged} />{' '}
          {judged.isAsClaimed ? words.asClaimed : <b class="wrong-text">{words.notAsClaimed}</b>}
        </span>
        <PredictionCheck predicted={predicted} seen={judged.verdict} />
        {also.length > 0 && (
          <span>
            <b>{words.alsoBroken}</b> {checkNames(also)}
          </span>
        )}
        {judged.evidence && (
          <p>{(language.value === 'zh' && judged.evidenceZh) || judged.evidence}</p>
        )}
      </section>
      {judged.proof && judged.proof.events.length > 0 && <ProofOfRace proof={judged.proof} />}
      {isRung(rung) && <p class="lesson">{ladder.value.rungs[rung].lesson}</p>}
    </>
  );
}

export function Predicted({ predicted }: { predicted: PredictedVerdict }) {
  const { words } = page.value;
  return (
    <span>
      <b>{words.predicted}</b> {predicted === 'held' ? words.doesNoHarm : words.doesHarm}
    </span>
  );
}

interface CheckedPrediction {
  readonly predicted: PredictedVerdict | undefined;
  readonly seen: Verdict;
}

/** Where nobody can tell, nobody was right or wrong. */
export function PredictionCheck({ predicted, seen }: CheckedPrediction) {
  const { words } = page.value;
  if (!predicted || seen === 'unknown') return null;
  return <small>{predicted === seen ? words.right : words.notRight}</small>;
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
