/** The proof of a violation: the orders, the reason, the commands; whether it comes again. */

import { signal } from '@preact/signals';
import type { Choice } from '../../lab/play/play.ts';
import { evidenceIn } from '../../lab/stage/result.ts';
import type { Proof as AuditProof } from '../../service/audit/audit.ts';
import { connection, isLearner, send } from './api.ts';
import { Button } from './controls.tsx';
import { reasonOf } from './faults.ts';
import { lettersOf, type PlayView } from './play-model.ts';
import { ladder, language, page } from './texts.ts';

/** More plays have the lab for themselves: they are not for one learner among many. */
export const mayAsk = (): boolean => connection.value !== 'recorded' && !isLearner.value;

/** The play whose violation is shown. */
export const proof = signal('');
const again = signal<ReadonlyMap<string, { violated: number; times: number }>>(new Map());

/** The orders and rows that prove it, why it came, and whether it comes again. */
export function Proof({ of }: { of: PlayView }) {
  const [broken] = of.broken;
  if (!broken || proof.value !== of.player) return null;
  const { words, playedAgain } = page.value;
  const because = reasonOf(of, broken.check);
  const counted = again.value.get(of.player);
  return (
    <section class="panel proof" aria-label={words.proof}>
      <div class="row">
        <h2>{words.proof}</h2>
        <Button class="right" shortcut="Esc" onClick={closeProof}>
          {words.close}
        </Button>
      </div>
      <p class="wrong-text">{evidenceIn(language.value, broken)}</p>
      <ul>
        {broken.orders.map((id) => (
          <li key={id}>{orderText(of, id)}</li>
        ))}
      </ul>
      {because && (
        <p>
          <b>{words.because}</b> {ladder.value.reasons[because]}
        </p>
      )}
      {mayAsk() && (
        <Button data-again onClick={() => void playAgain(of)}>
          {words.again}
        </Button>
      )}
      {counted && <b data-counted> {playedAgain(counted.violated, counted.times)}</b>}
      <Commands of={of} />
    </section>
  );
}

type SentCommands = readonly Required<Pick<Choice, 'choice' | 'commands'>>[];
/** By the play. */
const commands = signal<ReadonlyMap<string, SentCommands>>(new Map());

/** What each choice sends to Redis and MySQL: they are played once more, and listened to. */
function Commands({ of }: { of: PlayView }) {
  const { words } = page.value;
  const sent = commands.value.get(of.player);
  if (!sent && !mayAsk()) return null;
  if (!sent)
    return (
      <Button data-commands onClick={() => void listen(of)}>
        {words.commands}
      </Button>
    );
  return (
    <>
      <p>{words.commandsAre}</p>
      <ol class="commands">
        {sent.flatMap(({ choice, commands: own }, step) =>
          own.map(({ to, text }, line) => (
            <li key={`${step} ${line}`}>
              <b>{line === 0 ? choice : ''}</b> <small>{to}</small> <code>{text}</code>
            </li>
          )),
        )}
      </ol>
    </>
  );
}

const sameAs = (of: PlayView) => ({
  rung: of.rung,
  choices: lettersOf(of),
  stopsEverywhere: of.stopsEverywhere,
});

async function listen(of: PlayView): Promise<void> {
  const sent = await send<SentCommands>('POST', '/api/commands', sameAs(of));
  if (sent) commands.value = new Map(commands.value).set(of.player, sent);
}

/** The order, and the lane that was answered with it. */
function orderText({ rows, lanes }: PlayView, id: string): string {
  const lane = lanes.get(rows.find(({ orderId }) => orderId === id)?.lane ?? '');
  return lane ? `${id} · ${lane.name} · ${page.value.userOn(lane.userId, lane.instance)}` : id;
}

export function closeProof(): void {
  proof.value = '';
}

async function playAgain(of: PlayView): Promise<void> {
  const asked = { ...sameAs(of), times: 10 };
  const counted = await send<{ violated: number; times: number }>('POST', '/api/again', asked);
  if (counted) again.value = new Map(again.value).set(of.player, counted);
}

/** The smallest set of events, and the rows that they left. */
export function ProofOfRace({ proof: { events, rows } }: { proof: AuditProof }) {
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
