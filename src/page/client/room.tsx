/** The room: the instructor opens it, and sees the predictions of all beside what they saw. */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { encode } from 'uqr';
import { laneNames } from '../../lab/play/letters.ts';
import {
  isLaneName,
  type Outcome,
  type OutcomeSeen,
  outcomesFor,
} from '../../lab/play/outcomes.ts';
import { sum } from '../../lab/stage/counts.ts';
import type { RoomNow, RungTally } from '../server/room.ts';
import { connection, isLearner, joinRoom, room, send } from './api.ts';
import { ladderRow, ladderRows } from './built-rows.ts';
import { predictionText } from './cards.tsx';
import { Button, Select } from './controls.tsx';
import { isForLearners, mayPlay } from './faults.ts';
import { playRung } from './ladder.tsx';
import { view } from './route.tsx';
import { ladder, page } from './texts.ts';

export function Room() {
  const { room: title, roomIs } = page.value.room;
  const now = room.value;
  return (
    <main>
      <h1>{title}</h1>
      {now?.code === undefined ? (
        <>
          <p>{roomIs}</p>
          <Opening />
        </>
      ) : (
        <Opened now={now} />
      )}
    </main>
  );
}

const addresses = signal<readonly string[] | null>(null);
const address = signal('');

async function askAddresses(): Promise<void> {
  const answer = await fetch('/api/room').catch(() => null);
  if (!answer?.ok) return;
  addresses.value = ((await answer.json()) as { addresses: string[] }).addresses;
  address.value ||= addresses.value[0] ?? '';
}

/** Before: at which address. */
function Opening() {
  const texts = page.value.room;
  const isOpen = connection.value === 'open';
  useEffect(() => {
    if (isOpen) void askAddresses();
  }, [isOpen]);
  if (addresses.value === null) return null; // What is typed meanwhile would be written over.
  return (
    <form
      class="row wrap"
      onSubmit={(event) => {
        event.preventDefault();
        void send('POST', '/api/room', { address: address.value });
      }}
    >
      <label>
        {texts.address}{' '}
        <input
          name="address"
          list="addresses"
          value={address.value}
          onInput={({ currentTarget }) => {
            address.value = currentTarget.value;
          }}
        />
      </label>
      <datalist id="addresses">
        {addresses.value.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <button type="submit" class="next" data-open-room disabled={!isOpen || address.value === ''}>
        {texts.open}
      </button>
    </form>
  );
}

function Opened({ now }: { now: RoomNow }) {
  const texts = page.value.room;
  const { host = '', code = '', tallies = [] } = now;
  const others = tallies.filter(({ rung }) => rung !== now.at);
  return (
    <div class="cols room">
      <aside class="panel">
        <QrCode text={`http://${host}/#join=${code}`} />
        <p class="big">
          http://{host} <br />
          {texts.code} <b data-code>{code}</b>
        </p>
        <p data-here={now.here}>{texts.here(now.here, now.joined, now.most)}</p>
        <Button data-close-room onClick={() => void send('DELETE', '/api/room')}>
          {texts.close}
        </Button>
      </aside>
      <section>
        <BringTo at={now.at} />
        <TallyOf {...(tallies.find(({ rung }) => rung === now.at) ?? emptyTally(now.at))} />
        {others.map((tally) => (
          <TallyOf key={tally.rung} {...tally} />
        ))}
      </section>
    </div>
  );
}

const emptyTally = (rung: string): RungTally => ({ rung, predicted: {}, seen: {}, broken: 0 });

/** Black on white, whatever the theme: a camera reads it. */
function QrCode({ text }: { text: string }) {
  const { size, data } = encode(text, { border: 2 });
  const dark = data.flatMap((row, y) => row.flatMap((is, x) => (is ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={text}>
      <rect width={size} height={size} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  );
}

function BringTo({ at }: { at: string }) {
  const rungs = ladderRows
    .filter(isForLearners)
    .map(({ name, chapter }) => [name, `${chapter} · ${name}`] as const);
  return (
    <Select
      data-bring
      class="row wrap"
      name={page.value.room.bring}
      value={at}
      options={at === '' ? [['', '–'], ...rungs] : rungs}
      onChosen={(rung) => void send('POST', '/api/room/at', { rung })}
    />
  );
}

const allOutcomes: readonly Outcome[] = ['one', ...outcomesFor(laneNames.length, true)];

function TallyOf({ rung, predicted, seen, broken }: RungTally) {
  if (rung === '') return null;
  const texts = page.value.room;
  const row = ladderRow(rung);
  const [guesses, plays] = [sum(Object.values(predicted)), sum(Object.values(seen))];
  const shown = allOutcomes.filter((each) => predicted[each] || (!isLaneName(each) && seen[each]));
  return (
    <section class="panel tally" data-tally={rung}>
      <h2>{rung}</h2>
      {row && <p class="small">{ladder.value.rungs[row.name].idea}</p>}
      {shown.length === 0 && <p class="dim">{texts.nobodyYet}</p>}
      {shown.map((outcome) => (
        <div class="guess" key={outcome} data-outcome={outcome}>
          <span>{predictionText(outcome)}</span>
          <Bar kind="predicted" count={predicted[outcome] ?? 0} of={guesses} />
          <Bar kind="seen" count={seen[outcome as OutcomeSeen] ?? 0} of={plays} />
        </div>
      ))}
      {plays > 0 && <b data-broke={broken}>{texts.broke(broken, plays)}</b>}
    </section>
  );
}

function Bar({ kind, count, of }: { kind: 'predicted' | 'seen'; count: number; of: number }) {
  const { predictions, plays } = page.value.room;
  if (of === 0) return null;
  return (
    <div class={`bar ${kind}`}>
      <svg height="18" width="100%" aria-hidden="true">
        <rect height="18" width={`${(100 * count) / of}%`} />
      </svg>
      <small data-count={`${kind} ${count}`}>
        {count} {kind === 'predicted' ? predictions : plays}
      </small>
    </div>
  );
}

const typed = signal('');

/** A browser without a place in the room. */
export function Join() {
  const texts = page.value.room;
  return (
    <main>
      <h1>{texts.enterCode}</h1>
      <form
        class="row wrap"
        onSubmit={(event) => {
          event.preventDefault();
          void joinRoom(typed.value);
        }}
      >
        <input
          name="code"
          class="big"
          autocomplete="off"
          autocapitalize="characters"
          maxLength={6}
          aria-label={texts.enterCode}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
          }}
        />
        <button type="submit" class="next" data-join>
          {texts.join}
        </button>
      </form>
    </main>
  );
}

/** Where the instructor has brought the room: a learner goes there when he wants. */
export function RoomLine() {
  const now = room.value;
  const { roomIsAt, goThere } = page.value.room;
  if (!isLearner.value || !now) return null;
  const wanted = view.value;
  const row = ladderRow(now.at);
  if (!row || !mayPlay(row) || (wanted.is === 'race' && wanted.rung === now.at)) return null;
  return (
    <p class="room-line" role="status" data-room-at={now.at}>
      {roomIsAt(now.at)}{' '}
      <Button class="next" data-go-there onClick={() => playRung(row)}>
        {goThere}
      </Button>
    </p>
  );
}
