/** What is true now, and the code at which the lanes stand. */
import { notRead, type Reading } from '../../lab/stage/events.ts';
import { connection } from './api.ts';
import { ladderRow, type Source } from './built-rows.ts';
import { clockMs } from './event-log.ts';
import { type LaneView, nameOfReading, type PlayView } from './play-model.ts';
import { page } from './texts.ts';

const isOfData = ({ id }: Reading): boolean => !['mutex', 'node', 'key'].includes(id);

export function TrueNow({ of }: { of: PlayView }) {
  const data = of.readings.filter(isOfData);
  const locks = of.readings.filter((reading) => !isOfData(reading));
  return (
    <>
      <h2>{page.value.words.trueNow}</h2>
      <table class="state">
        <tbody>
          {locks.map((reading) => (
            <ReadingRow key={nameOfReading(reading)} reading={reading} of={of} />
          ))}
          <Quorum of={of} />
          {data.map((reading) => (
            <ReadingRow key={nameOfReading(reading)} reading={reading} of={of} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function ReadingRow({ reading, of }: { reading: Reading; of: PlayView }) {
  const isChanged = of.changed.has(nameOfReading(reading));
  return (
    <tr class={isChanged ? 'changed' : ''} data-reading={reading.id}>
      <td>{page.value.readings[reading.id](reading.of)}</td>
      <td>
        <Value reading={reading} stock={of.stock} />
        {isChanged && ' ←'}
        {reading.leftMs !== undefined && <Left leftMs={reading.leftMs} sinceMs={of.readAtMs} />}
      </td>
    </tr>
  );
}

function Value({ reading: { id, value, lane }, stock }: { reading: Reading; stock: number }) {
  const { words, heldBy, order } = page.value;
  if (id === 'stock-mysql' || id === 'stock-redis') return <>{`${value || '–'} / ${stock}`}</>;
  if (id === 'orders' || id === 'on-its-way')
    return <>{value === '' ? words.none : value.split(' ').map(order).join(', ')}</>;
  if (value === notRead) return <>{words.noAnswer}</>;
  if (value === '') return <>{words.free}</>;
  return (
    <>
      {lane && <b>{heldBy(lane)}</b>} {id === 'key' && <code>{shortened(value)}</code>}
    </>
  );
}

const shortened = (text: string): string => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

/** The time to live of the key, which runs down. */
function Left({ leftMs, sinceMs }: { leftMs: number; sinceMs: number }) {
  const passedMs = connection.value === 'recorded' ? 0 : clockMs.value - sinceMs;
  const seconds = Math.max(0, leftMs - passedMs) / 1_000;
  return <small> {page.value.seconds(seconds.toFixed(0))}</small>;
}

/** Of a lock on several masters: on how many of them the owner has it. */
function Quorum({ of }: { of: PlayView }) {
  const keys = of.readings.filter(({ id }) => id === 'key');
  if (keys.length < 2) return null;
  const values = keys.map(({ value }) => value).filter((value) => value !== notRead);
  const owners = values.filter(Boolean);
  const most = Math.max(0, ...owners.map((own) => owners.filter((each) => each === own).length));
  const needed = ladderRow(of.rung)?.lockNeeded ?? keys.length;
  const { quorum, answer } = page.value;
  const text =
    most > 0 ? quorum(most, needed, keys.length) : answer(values.length, needed, keys.length);
  return (
    <tr>
      <td>{''}</td>
      <td>{text}</td>
    </tr>
  );
}

const byArrival = (one: LaneView, other: LaneView): number => other.sinceMs - one.sinceMs;

/** Around the place of the lane that came to a stop last. */
export function Code({ of }: { of: PlayView }) {
  const standing = [...of.lanes.values()].filter(({ state }) => state === 'at').sort(byArrival);
  const [last] = standing;
  const source = ladderRow(of.rung)?.sources[last?.checkpoint ?? ''];
  if (!last || !source) return null;
  const here = standing.filter(({ checkpoint }) => checkpoint === last.checkpoint);
  return (
    <>
      <h2>{page.value.words.theCode}</h2>
      <SourceLines source={source} lanes={here.map(({ name }) => name).join(' ')} />
    </>
  );
}

interface ShownSource {
  readonly source: Source;
  readonly lanes?: string;
}

export function SourceLines({ source, lanes = '' }: ShownSource) {
  return (
    <>
      <pre class="code">
        {source.lines.map((text, index) =>
          index === source.mark ? (
            <b key={index}>{`${lanes && `● ${lanes} `}${text}\n`}</b>
          ) : (
            `${text}\n`
          ),
        )}
      </pre>
      <small>
        {source.file}:{source.line}
      </small>
    </>
  );
}
