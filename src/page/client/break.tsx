/** Break it: the rung and the load that somebody chooses, and the counts of the sale. */
import { arrivals, whyNot } from '../../lab/by-hand/break-choice.ts';
import { notRead, type SaleCounts } from '../../lab/stage/events.ts';
import { connection, isBusy } from './api.ts';
import { ladderRows } from './ladder-rows.ts';
import { OtherRun } from './other-run.tsx';
import { type BreakAddress, show } from './route.tsx';
import type { RunView } from './run-model.ts';
import { askForFault } from './servers.tsx';
import { beginRun, isEnding } from './store.ts';
import { page } from './texts.ts';

const rates = [20, 100, 400, 1_000, 2_000] as const;

/** The address is the choice. */
export function ChooseBreak({ wanted }: { wanted: BreakAddress }) {
  const { words } = page.value;
  const because = whyNot(wanted);
  const change = (more: Partial<BreakAddress>) => show({ is: 'run', ...wanted, ...more });
  return (
    <section class="panel predict">
      <p>{words.breakItIs}</p>
      <Choice
        {...{ id: 'rung', name: words.rung, value: wanted.rung, options: rungOptions }}
        onChosen={(rung) => change({ rung })}
      />
      <Choice
        {...{ id: 'beside', name: words.beside, value: wanted.beside ?? '' }}
        options={[['', words.noRungBeside], ...rungOptions]}
        onChosen={(beside) => change({ beside: beside === '' ? undefined : beside })}
      />
      <Choice
        {...{ id: 'arrivals', name: words.arrivals, value: wanted.arrivals }}
        options={arrivals.map((each) => [each, page.value.arrivals[each]])}
        onChosen={(chosen) =>
          change({ arrivals: arrivals.find((each) => each === chosen) ?? 'steady' })
        }
      />
      <Choice
        {...{ id: 'rate', name: words.rate, value: String(wanted.perSecond) }}
        options={ratesWith(wanted.perSecond).map((rate) => [
          String(rate),
          rate.toLocaleString('en-US'),
        ])}
        onChosen={(rate) => change({ perSecond: Number(rate) })}
      />
      {because && <p class="wrong-text">{words[because]}</p>}
      <OtherRun wanted={wanted} />
      <button
        type="button"
        class="next"
        data-begin
        disabled={isBusy.value || connection.value !== 'open' || because !== null}
        onClick={() => void beginRun(wanted)}
      >
        {words.beginLoad}
      </button>
    </section>
  );
}

/** The address may have another one. */
const ratesWith = (wanted: number): number[] =>
  [...new Set([...rates, wanted])].sort((one, other) => one - other);

const rungOptions = ladderRows.map(({ name }) => [name, name] as const);

interface ChoiceProps {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  /** The value, and its name. */
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChosen: (value: string) => void;
}

function Choice({ id, name, value, options, onChosen }: ChoiceProps) {
  return (
    <label>
      {name}{' '}
      <select
        data-choose={id}
        value={value}
        onChange={({ currentTarget }) => onChosen(currentTarget.value)}
      >
        {options.map(([own, text]) => (
          <option key={own} value={own}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What cannot be read now is neither none nor good. */
const isRead = (value: number | null | undefined): value is number =>
  value !== null && value !== undefined;
const number = (value: number | null | undefined): string =>
  isRead(value) ? value.toLocaleString('en-US') : notRead;

type Count = readonly [id: string, name: string, value: number | null | undefined];

/** Where the accepted orders are, from the sale to MySQL. */
function ordersIn({ accepted, recorded, dead = 0, queue }: SaleCounts): Count[] {
  const { words } = page.value;
  const waiting = recorded === undefined ? undefined : Math.max(0, accepted - recorded - dead);
  const hasQueue = queue !== undefined;
  return [
    ['accepted', words.accepted, accepted],
    ...(hasQueue ? inQueue(queue) : [['waiting', words.waiting, waiting] as const]),
    ['recorded', words.recordedOrders, recorded],
    ...(hasQueue || dead > 0 ? [['dead', words.dead, dead] as const] : []),
    ...(hasQueue ? [elsewhere(queue)] : []),
  ];
}

type Queue = Exclude<SaleCounts['queue'], undefined>;

/** Null: its server does not answer. */
function inQueue(queue: Queue): Count[] {
  const { words } = page.value;
  if (queue === null) return [['queued', words.queued, null]];
  const { depth, inHand } = queue;
  return [
    ['queued', words.queued, Math.max(0, depth - (inHand ?? 0))], // Read one after the other.
    ...(inHand === null ? [] : [['in-hand', words.inHand, inHand] as const]),
  ];
}

/** Neither in the queue, as far as it counts, nor in MySQL. */
function elsewhere(queue: Queue): Count {
  const { words } = page.value;
  const { isInHandUncounted = false, nowhere = null } = queue ?? {};
  return isInHandUncounted
    ? ['uncounted', words.uncounted, nowhere]
    : ['nowhere', words.nowhere, nowhere];
}

/** While it sells: what was answered, and where the orders are. */
export function Counts({ run, rung }: { run: RunView; rung: string }) {
  const counts = run.counts[rung];
  if (!counts) return null;
  const { words } = page.value;
  const { refused, refusedBecause, unknown, twice } = counts;
  const rows: Count[] = [
    ...ordersIn(counts),
    ['refused', words.refused, refused],
    ['unknown', words.unknown, unknown],
  ];
  return (
    <dl class="counts">
      {rows.map(([id, name, value]) => (
        <div key={id} data-count={id} class={classOf(value, id === 'nowhere' ? '' : undefined)}>
          <dt>{name}</dt>
          <dd>{number(value)}</dd>
        </div>
      ))}
      <div data-count="twice" class={classOf(twice, 'held-text')}>
        <dt>{words.twice}</dt>
        <dd>
          {isRead(twice) && (twice > 0 ? '✗ ' : '✓ ')}
          {number(twice)}
        </dd>
      </div>
      {refused > 0 && <small class="why">{page.value.refusedBecause(refusedBecause)}</small>}
    </dl>
  );
}

/** @param ofNone the class of a count that must be 0; without it, any count is right */
function classOf(value: Count[2], ofNone?: string): string {
  if (!isRead(value)) return 'dim';
  return value > 0 && ofNone !== undefined ? 'wrong-text' : (ofNone ?? '');
}

async function endLoad(): Promise<void> {
  isEnding.value = true;
  isEnding.value = await askForFault('end'); // When it was refused, it can be asked for again.
}

export function EndLoad() {
  const { words } = page.value;
  return (
    <span class="row right">
      <button
        type="button"
        data-heal
        disabled={isBusy.value}
        onClick={() => void askForFault('heal')}
      >
        {words.healAll}
      </button>
      <button
        type="button"
        class="next"
        data-end
        disabled={isEnding.value}
        onClick={() => void endLoad()}
      >
        {words.endLoad}
      </button>
    </span>
  );
}
