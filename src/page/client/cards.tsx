/** What is predicted before a play or a run, and the card of its verdict. */

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { OrdersOfRung } from '../../lab/play/all-orders.ts';
import { isLaneName, ordersIn, outcomeIn, outcomesFor } from '../../lab/play/outcomes.ts';
import type { SaleKind } from '../../lab/play/set-up.ts';
import type { Verdict } from '../../service/domain.ts';
import { askQuietly } from './api.ts';
import { ladderRow } from './built-rows.ts';
import { Button } from './controls.tsx';
import { isDone, isOver, type PlayView } from './play-model.ts';
import { type Prediction, predict, predictions, wasRight } from './predictions.ts';
import { mayAsk, proof } from './proof.tsx';
import { branchTo } from './store.ts';
import { ladder, page } from './texts.ts';
import type { OutcomeTexts } from './texts-en.ts';

/** @param texts those of an outcome */
export function predictionText(
  prediction: Prediction,
  texts: OutcomeTexts = page.value.outcomeShort,
): string {
  if (isLaneName(prediction)) return texts.of(prediction);
  const { doesNoHarm, doesHarm } = page.value.words;
  return { ...texts, held: doesNoHarm, violated: doesHarm }[prediction];
}

interface PredictCardProps<Predicted extends Prediction> {
  readonly outcomes: readonly Predicted[];
  readonly texts?: OutcomeTexts;
  readonly isDisabled?: boolean;
  readonly onPredicted: (outcome: Predicted) => void;
  /** The question. */
  readonly children: ComponentChildren;
}

/** Shown until the viewer has predicted; only then does it begin. */
export function PredictCard<Predicted extends Prediction>(props: PredictCardProps<Predicted>) {
  const { outcomes, texts, isDisabled = false, onPredicted, children } = props;
  const { words } = page.value;
  return (
    <section class="panel predict" aria-label={words.predictFirst}>
      <h2>{words.predictFirst}</h2>
      {children}
      {outcomes.map((outcome, index) => (
        <Button
          key={outcome}
          data-predict={outcome}
          disabled={isDisabled}
          onClick={() => onPredicted(outcome)}
        >
          <kbd>{index + 1}</kbd> {predictionText(outcome, texts)}
        </Button>
      ))}
    </section>
  );
}

const saleOn = (rung: string): SaleKind => ladderRow(rung)?.sale ?? 'one-user';

interface ToPredict {
  readonly rung: string;
  readonly lanes: number;
  /** They are played at once. */
  readonly choices: string;
  /** They bring every buyer to an end, on the rung before. */
  readonly isWhole?: boolean;
  readonly onPredicted: () => void;
}

export function Predict({ rung, lanes, choices, isWhole = false, onPredicted }: ToPredict) {
  const { words, question, willPlay, outcomes } = page.value;
  return (
    <PredictCard
      outcomes={outcomesFor(lanes, isWhole)}
      texts={outcomes[saleOn(rung)]}
      onPredicted={(outcome) => {
        predict(rung, outcome);
        onPredicted();
      }}
    >
      <p>
        {question(lanes, saleOn(rung))}{' '}
        {choices === '' ? words.youDecide : willPlay(choices.split('').join(' '))}
      </p>
    </PredictCard>
  );
}

interface BeginAgainProps {
  /** It was asked for, and begins by itself. */
  readonly isOnItsWay: boolean;
  /** Why it does not. */
  readonly because?: string;
  readonly onPlay: () => void;
}

/** What was predicted in this visit, until it begins. */
export function BeginAgain({ isOnItsWay, because = '', onPlay }: BeginAgainProps) {
  const { words } = page.value;
  if (isOnItsWay) return <p role="status">{words.preparing}</p>;
  return (
    <p role="status">
      {because}{' '}
      <Button class="next" data-retry onClick={onPlay}>
        {words.play}
      </Button>
    </p>
  );
}

/** A shape beside every colour. */
export const verdictMarks = {
  violated: '✗',
  held: '✓',
  unknown: '?',
  overlap: '∥',
  stuck: '◌',
  'so-far': '◌',
} as const satisfies Record<Verdict | 'overlap' | 'stuck' | 'so-far', string>;

interface ChipProps {
  readonly verdict: keyof typeof verdictMarks;
  readonly text: string;
  readonly onClick?: () => void;
}

export function Chip({ verdict, text, onClick }: ChipProps) {
  const children = `${verdictMarks[verdict]} ${text}`;
  const props = { class: `chip ${verdict}`, 'data-verdict': verdict, children };
  return onClick ? <Button {...props} onClick={onClick} /> : <span {...props} />;
}

interface VerdictCardProps {
  readonly predicted: Prediction | undefined;
  /** Undefined: nobody can tell, or nothing was predicted. */
  readonly isRight: boolean | undefined;
  /** What was seen, and how it was judged. */
  readonly audit: ComponentChildren;
  /** The attribute by which it is found. */
  readonly found: object;
  readonly children?: ComponentChildren;
}

/** Predicted, seen and the audit's verdict, side by side. */
export function VerdictCard({ predicted, isRight, audit, found, children }: VerdictCardProps) {
  const { words } = page.value;
  return (
    <section class="panel outcome" aria-live="polite" {...found}>
      {predicted && (
        <span>
          <b>{words.predicted}</b> {predictionText(predicted)}
        </span>
      )}
      {audit}
      {isRight !== undefined && <small>{isRight ? words.right : words.notRight}</small>}
      {children}
    </section>
  );
}

/** When nothing more can be chosen. */
export function Outcomes({ of }: { of: PlayView }) {
  const isBroken = of.broken.length > 0;
  if (!isBroken && !isOver(of)) return null;
  const { words, ordersSeen } = page.value;
  const predicted = predictions.value.get(of.rung);
  return (
    <VerdictCard
      predicted={predicted}
      isRight={predicted && wasRight(of, predicted)}
      found={{ 'data-outcome': outcomeIn(of.readings) }}
      audit={
        <>
          <span>
            <b>{words.seen}</b> {ordersSeen(ordersIn(of.readings))}
          </span>
          <span>
            <b>{words.audit}</b> <PlayChip of={of} />
          </span>
        </>
      }
    />
  );
}

export function PlayChip({ of }: { of: PlayView }) {
  const { words, atOnce } = page.value;
  const [broken] = of.broken;
  if (broken) {
    const text = `${words.violated}: ${ladder.value.checks[broken.check]}`;
    const showProof = () => {
      proof.value = of.player;
    };
    return <Chip verdict="violated" text={text} onClick={showProof} />;
  }
  if (of.isFinal && of.unknown.length > 0)
    return <Chip verdict="unknown" text={words.cannotTell} />;
  if (of.ownersAtOnce.length > 0)
    return <Chip verdict="overlap" text={atOnce(of.ownersAtOnce.join(', '))} />;
  if (isOver(of) && !isDone(of)) return <Chip verdict="stuck" text={words.stuck} />;
  return isOver(of) && of.isFinal ? (
    <Chip verdict="held" text={words.held} />
  ) : (
    <Chip verdict="so-far" text={words.heldSoFar} />
  );
}

/** By the rung. They are counted by playing them. */
const counts = signal<ReadonlyMap<string, OrdersOfRung | null>>(new Map());

async function count(rung: string): Promise<void> {
  if (counts.value.has(rung)) return;
  counts.value = new Map(counts.value).set(rung, null);
  const orders = await askQuietly<OrdersOfRung>('/api/orders', { rung });
  const rest = new Map(counts.value);
  rest.delete(rung); // When it was refused, the next play asks again.
  counts.value = orders ? rest.set(rung, orders) : rest;
}

/** Beside the end of a play: every interleaving of two buyers on its rung, and what breaks it. */
export function AllOrders({ of }: { of: PlayView }) {
  const isAsked = of.isFinal && ladderRow(of.rung)?.orders !== undefined && mayAsk();
  useEffect(() => {
    if (isAsked) void count(of.rung);
  }, [of.rung, isAsked]);
  const orders = counts.value.get(of.rung);
  if (!isAsked || orders === undefined) return null;
  if (orders === null) return <p class="dim">{page.value.words.counting}</p>;
  return (
    <p class="row wrap" data-all-orders>
      {page.value.allOrders(orders.broken.length, orders.orders)}{' '}
      {orders.broken.slice(0, 3).map((choices) => (
        <Button key={choices} onClick={() => branchTo(choices, of)}>
          {choices.split('').join(' ')}
        </Button>
      ))}
    </p>
  );
}
