/** What the viewer predicts before a play, and what he sees after it. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { OrdersOfRung } from '../../lab/play/all-orders.ts';
import { isLaneName, type Outcome, outcomesFor } from '../../lab/play/outcomes.ts';
import type { Choice } from '../../lab/play/play.ts';
import type { SaleKind } from '../../lab/play/set-up.ts';
import { connection, isLearner, send } from './api.ts';
import { ladderRow } from './ladder-rows.ts';
import { isDone, isOver, lettersOf, type PlayView, soldIn } from './model.ts';
import { outcomeSeen, predict, predictions, wasRight } from './predictions.ts';
import { reasonOf } from './reasons.ts';
import { branchTo } from './store.ts';
import { ladder, page } from './texts.ts';
import type { OutcomeTexts } from './texts-en.ts';

const saleOn = (rung: string): SaleKind => ladderRow(rung)?.sale ?? 'one-user';

function outcomeText(texts: OutcomeTexts, outcome: Outcome): string {
  return isLaneName(outcome) ? texts.of(outcome) : texts[outcome];
}

interface ToPredict {
  readonly rung: string;
  readonly lanes: number;
  /** They are played at once. */
  readonly choices: string;
  /** They bring every buyer to an end, on the rung before. */
  readonly isWhole?: boolean;
  readonly onPredicted: () => void;
}

/** Shown until the viewer has predicted; only then does the play begin. */
export function Predict({ rung, lanes, choices, isWhole = false, onPredicted }: ToPredict) {
  const { words, question, willPlay } = page.value;
  const choose = (outcome: Outcome) => {
    predict(rung, outcome);
    onPredicted();
  };
  return (
    <section class="panel predict" aria-label={words.predictFirst}>
      <h2>{words.predictFirst}</h2>
      <p>
        {question(lanes, saleOn(rung))}{' '}
        {choices === '' ? words.youDecide : willPlay(choices.split('').join(' '))}
      </p>
      {outcomesFor(lanes, isWhole).map((outcome, index) => (
        <button type="button" key={outcome} data-predict={outcome} onClick={() => choose(outcome)}>
          <kbd>{index + 1}</kbd> {outcomeText(page.value.outcomes[saleOn(rung)], outcome)}
        </button>
      ))}
    </section>
  );
}

/** Predicted, seen and the audit's verdict, side by side, when nothing more can be chosen. */
export function Outcomes({ of }: { of: PlayView }) {
  const isBroken = of.broken.length > 0;
  if (!isBroken && !isOver(of)) return null;
  const { words, outcomeShort, ordersSeen } = page.value;
  const predicted = predictions.value.get(of.rung);
  const seen = outcomeSeen(of);
  return (
    <section class="panel outcome" aria-live="polite" data-outcome={seen}>
      {predicted && (
        <span>
          <b>{words.predicted}</b> {outcomeText(outcomeShort, predicted)}
        </span>
      )}
      <span>
        <b>{words.seen}</b> {ordersSeen(soldIn(of))}
      </span>
      <span>
        <b>{words.audit}</b> <Verdict of={of} />
      </span>
      {predicted && <small>{wasRight(of, predicted) ? words.right : words.notRight}</small>}
      {!isBroken && of.isFinal && <LetOff of={of} />}
    </section>
  );
}

export function Verdict({ of }: { of: PlayView }) {
  const { words } = page.value;
  const [broken] = of.broken;
  if (broken)
    return (
      <button
        type="button"
        class="chip wrong"
        data-verdict="violated"
        onClick={() => {
          proof.value = of.id;
        }}
      >
        ✗ {words.violated}: {ladder.value.checks[broken.check]}
      </button>
    );
  if (of.isFinal && of.unknown.length > 0)
    return (
      <span class="chip so-far" data-verdict="unknown">
        ? {words.cannotTell}
      </span>
    );
  if (isOver(of) && !isDone(of))
    return (
      <span class="chip wait" data-verdict="stuck">
        ◌ {words.stuck}
      </span>
    );
  return isOver(of) && of.isFinal ? (
    <span class="chip held" data-verdict="held">
      ✓ {words.held}
    </span>
  ) : (
    <span class="chip so-far" data-verdict="so-far">
      ◌ {words.heldSoFar}
    </span>
  );
}

/** More plays have the lab for themselves: they are not for one learner among many. */
const mayAsk = (): boolean => connection.value !== 'recorded' && !isLearner.value;

/** The play whose violation is shown. */
export const proof = signal('');
const again = signal<ReadonlyMap<string, { violated: number; times: number }>>(new Map());

/** The orders and rows that prove it, why it came, and whether it comes again. */
export function Proof({ of }: { of: PlayView }) {
  const [broken] = of.broken;
  if (!broken || proof.value !== of.id) return null;
  const { words, playedAgain } = page.value;
  const because = reasonOf(of, broken.check);
  const counted = again.value.get(of.id);
  return (
    <section class="panel proof" aria-label={words.proof}>
      <div class="row">
        <h2>{words.proof}</h2>
        <button type="button" class="right" onClick={closeProof}>
          {words.close}
          <kbd>Esc</kbd>
        </button>
      </div>
      <p class="wrong-text">{broken.evidence}</p>
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
        <button type="button" data-again onClick={() => void playAgain(of)}>
          {words.again}
        </button>
      )}
      {counted && <b data-counted> {playedAgain(counted.violated, counted.times)}</b>}
      <Commands of={of} />
    </section>
  );
}

type Sent = readonly Required<Pick<Choice, 'choice' | 'commands'>>[];
/** By the play. */
const commands = signal<ReadonlyMap<string, Sent>>(new Map());

/** What each choice sends to Redis and MySQL: they are played once more, and listened to. */
function Commands({ of }: { of: PlayView }) {
  const { words } = page.value;
  const sent = commands.value.get(of.id);
  if (!sent && !mayAsk()) return null;
  if (!sent)
    return (
      <button type="button" data-commands onClick={() => void listen(of)}>
        {words.commands}
      </button>
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

async function listen(of: PlayView): Promise<void> {
  const body = { rung: of.rung, choices: lettersOf(of), stopsEverywhere: of.stopsEverywhere };
  const sent = await send<Sent>('POST', '/api/commands', body);
  if (sent) commands.value = new Map(commands.value).set(of.id, sent);
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
  const body = {
    rung: of.rung,
    choices: lettersOf(of),
    stopsEverywhere: of.stopsEverywhere,
    times: 10,
  };
  const counted = await send<{ violated: number; times: number }>('POST', '/api/again', body);
  if (counted) again.value = new Map(again.value).set(of.id, counted);
}

/** By the rung. They are counted by playing them. */
const counts = signal<ReadonlyMap<string, OrdersOfRung | null>>(new Map());

async function count(rung: string): Promise<void> {
  if (counts.value.has(rung)) return;
  counts.value = new Map(counts.value).set(rung, null);
  const orders = await send<OrdersOfRung>('POST', '/api/orders', { rung });
  const rest = new Map(counts.value);
  rest.delete(rung); // When it was refused, the next play asks again.
  counts.value = orders ? rest.set(rung, orders) : rest;
}

/** The end of a rung that some orders break, without a violation. */
function LetOff({ of }: { of: PlayView }) {
  const isBreakable = (ladderRow(of.rung)?.breaks.length ?? 0) > 0;
  const isLive = mayAsk();
  useEffect(() => {
    if (isBreakable && isLive) void count(of.rung);
  }, [of.rung, isBreakable, isLive]);
  if (!isBreakable || !isLive) return null;
  const orders = counts.value.get(of.rung);
  if (orders === undefined) return null;
  if (orders === null) return <span>{page.value.words.counting}</span>;
  return (
    <span data-let-off>
      {page.value.letOff(orders.broken.length, orders.orders)}{' '}
      {orders.broken.slice(0, 3).map((choices) => (
        <button type="button" key={choices} onClick={() => branchTo(choices)}>
          {choices.split('').join(' ')}
        </button>
      ))}
    </span>
  );
}

/** `1`, `2`, `3` */
export function predictByKey(
  key: string,
  { rung, lanes, isWhole = false }: Pick<ToPredict, 'rung' | 'lanes' | 'isWhole'>,
): boolean {
  const outcome = outcomesFor(lanes, isWhole)[Number(key) - 1];
  if (!outcome || predictions.value.has(rung)) return false;
  predict(rung, outcome);
  return true;
}
