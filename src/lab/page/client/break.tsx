/** Break it: the rung and the load that somebody chooses, and the counts of the sale. */
import { connection, isBusy } from './api.ts';
import { ladderRows } from './ladder-rows.ts';
import { show } from './route.ts';
import type { RunView } from './run-model.ts';
import { beginRun } from './run-store.ts';
import { askForFault } from './servers.tsx';
import type { WantedBreak } from './store.ts';
import { page } from './texts.ts';

const rates = [20, 100, 400, 1_000, 2_000] as const;

/** The address is the choice. */
export function ChooseBreak({ wanted }: { wanted: WantedBreak }) {
  const { words } = page.value;
  const change = (more: Partial<WantedBreak>) => show({ is: 'run', ...wanted, ...more });
  return (
    <section class="panel predict">
      <p>{words.breakItIs}</p>
      <label>
        {words.rung}{' '}
        <select
          data-rung-of-break
          value={wanted.rung}
          onChange={({ currentTarget }) => change({ rung: currentTarget.value })}
        >
          {ladderRows.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        {words.rate}{' '}
        <select
          value={wanted.perSecond}
          onChange={({ currentTarget }) => change({ perSecond: Number(currentTarget.value) })}
        >
          {rates.map((rate) => (
            <option key={rate} value={rate}>
              {rate.toLocaleString('en-US')}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="next"
        data-begin
        disabled={isBusy.value || connection.value !== 'open'}
        onClick={() => void beginRun(wanted)}
      >
        {words.beginLoad}
      </button>
    </section>
  );
}

const number = (value: number | undefined): string => value?.toLocaleString('en-US') ?? '–';

/** While it sells: what was answered, and what MySQL has. */
export function Counts({ run: { counts } }: { run: RunView }) {
  if (!counts) return null;
  const { words } = page.value;
  const { accepted, refused, unknown, recorded, twice, dead = 0 } = counts;
  const waiting = recorded === undefined ? undefined : Math.max(0, accepted - recorded - dead);
  const rows = [
    ['accepted', words.accepted, accepted],
    ['recorded', words.recordedOrders, recorded],
    ['waiting', words.waiting, waiting],
    ...(dead > 0 ? [['dead', words.dead, dead] as const] : []),
    ['refused', words.refused, refused],
    ['unknown', words.unknown, unknown],
  ] as const;
  return (
    <dl class="counts">
      {rows.map(([id, name, value]) => (
        <div key={id} data-count={id}>
          <dt>{name}</dt>
          <dd>{number(value)}</dd>
        </div>
      ))}
      <div data-count="twice" class={twice ? 'wrong-text' : 'held-text'}>
        <dt>{words.twice}</dt>
        <dd>
          {twice ? '✗' : '✓'} {number(twice)}
        </dd>
      </div>
    </dl>
  );
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
      <button type="button" class="next" data-end onClick={() => void askForFault('end')}>
        {words.endLoad}
      </button>
    </span>
  );
}
