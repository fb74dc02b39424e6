/**
 * An experiment in the trace-event format of Chrome, for ui.perfetto.dev: a process for each
 * instance, a track for each request, a flow for each lock that is handed over, and counters.
 * No two slices of a track overlap. Source: "Trace Event Format", Google, 2016.
 */
import type { Facts } from '../../service/audit/facts.ts';
import type { HistoryEvent } from '../../service/trace/history.ts';
import type { StageEvent } from '../stage/events.ts';
import { refusedIn } from '../stage/seconds.ts';
import { faultWords } from './fault-words.ts';

/** `ts` and `dur` are microseconds since the first event. */
export interface TraceEvent {
  /** Slice, start and end of a flow, counter, name. */
  readonly ph: 'X' | 's' | 'f' | 'C' | 'M';
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  /** A flow ends in the slice that is there. */
  readonly bp?: 'e';
  readonly args?: Readonly<Record<string, unknown>>;
}

type Track = Pick<TraceEvent, 'pid' | 'tid'>;

/** The clock and the numbers of one trace. */
class Numbers {
  readonly names: TraceEvent[] = [];
  readonly #processes = new Map<string, number>();
  readonly #threads = new Map<string, number>();
  readonly #startAt: bigint;

  constructor(startAt: bigint) {
    this.#startAt = startAt;
  }

  micros = (at: string): number => Number(BigInt(at) - this.#startAt) / 1_000;

  /** A name is told once. */
  place(process: string, thread: string): Track {
    const pid = this.#number(this.#processes, process, 'process_name', process, 0);
    const tid = this.#number(this.#threads, `${process}\n${thread}`, 'thread_name', thread, pid);
    return { pid, tid };
  }

  #number(known: Map<string, number>, key: string, kind: string, name: string, pid: number) {
    const number = known.get(key) ?? known.size + 1;
    if (known.has(key)) return number;
    known.set(key, number);
    const place = pid === 0 ? { pid: number, tid: 0 } : { pid, tid: number };
    this.names.push({ ph: 'M', name: kind, ...place, ts: 0, args: { name } });
    return number;
  }
}

export function chromeTrace(
  events: readonly StageEvent[],
  facts: readonly Facts[],
): { readonly traceEvents: readonly TraceEvent[] } {
  const all = facts.map(({ history = [] }) => history.toSorted(byTime));
  const times = [...events, ...all.flat()].map(({ at }) => BigInt(at));
  const numbers = new Numbers(
    times.reduce((least, at) => (at < least ? at : least), times[0] ?? 0n),
  );
  const shown = [
    ...faultSlices(events, numbers),
    ...secondCounters(events, numbers),
    ...all.flatMap((history) => [
      ...requestSlices(history, numbers),
      ...lockFlows(history, numbers),
    ]),
    ...facts.flatMap((each, index) => stockCounter(each, all[index] ?? [], numbers)),
  ];
  return { traceEvents: [...numbers.names, ...shown.toSorted((one, two) => one.ts - two.ts)] };
}

const byTime = (one: HistoryEvent, two: HistoryEvent): number =>
  Number(BigInt(one.at) - BigInt(two.at));

/** Of the last event of a request: a flow can begin in a slice only. */
const shortestMicros = 1;

/** From each event of a request to its next one in the same process. */
function requestSlices(history: readonly HistoryEvent[], numbers: Numbers): TraceEvent[] {
  const tracks = Map.groupBy(history, (event) => `${event.instance} ${trackOf(event)}`);
  return [...tracks.values()].flatMap((track) =>
    track.map((event, index): TraceEvent => {
      const next = track[index + 1];
      const ts = numbers.micros(event.at);
      const own = { name: labelOf(event), ...placeIn(event, numbers), ts, args: { ...event } };
      return { ph: 'X', ...own, dur: next ? numbers.micros(next.at) - ts : shortestMicros };
    }),
  );
}

const trackOf = ({ userId, requestId }: HistoryEvent): string => `user ${userId}, ${requestId}`;
const placeIn = (event: HistoryEvent, numbers: Numbers): Track =>
  numbers.place(event.instance, trackOf(event));

/** What the request does from here on. */
const labels: Readonly<Record<string, string>> = {
  requested: 'waits for the lock',
  granted: 'has the lock',
  releasing: 'releases the lock',
};
const labelOf = ({ event, checkpoint, reason }: HistoryEvent): string =>
  checkpoint ?? labels[event] ?? (reason ? `${event}: ${reason}` : event);

const ends: readonly string[] = ['releasing', 'expired'];

/** From the end of one owner to the grant of the next. */
function lockFlows(history: readonly HistoryEvent[], numbers: Numbers): TraceEvent[] {
  const last = new Map<string, HistoryEvent>();
  const flows: TraceEvent[] = [];
  for (const event of history) {
    const { event: kind, resource = '', requestId } = event;
    const before = last.get(resource);
    if (ends.includes(kind)) last.set(resource, event);
    if (kind !== 'granted' || !before || before.requestId === requestId) continue;
    const flow = { name: 'the lock', cat: 'lock', id: Number(event.at) };
    const [from, to] = [before, event].map((each) => ({
      ...placeIn(each, numbers),
      ts: numbers.micros(each.at),
    })) as [Track & { ts: number }, Track & { ts: number }];
    flows.push({ ph: 's', ...flow, ...from }, { ph: 'f', bp: 'e', ...flow, ...to });
    last.delete(resource);
  }
  return flows;
}

/** Units that are not promised to a buyer. */
function stockCounter(
  { voucherId, initialStock }: Facts,
  history: readonly HistoryEvent[],
  numbers: Numbers,
): TraceEvent[] {
  let left = initialStock;
  return history.flatMap((event): TraceEvent[] => {
    if (event.event !== 'accepted') return [];
    left -= 1;
    const { pid } = numbers.place('the sale', 'stock');
    return [
      {
        ph: 'C',
        name: `stock of ${voucherId}`,
        pid,
        tid: 0,
        ts: numbers.micros(event.at),
        args: { left },
      },
    ];
  });
}

/** On a track of its server; of two at once the later is on a track beside it. */
function faultSlices(events: readonly StageEvent[], numbers: Numbers): TraceEvent[] {
  const endOf = new Map<number, string>();
  for (const event of events) if (event.kind === 'healed') endOf.set(event.id, event.at);
  const last = events.at(-1)?.at ?? '0';
  const freeAt = new Map<string, number>();
  return events.flatMap((event): TraceEvent[] => {
    if (event.kind !== 'fault') return [];
    const ts = numbers.micros(event.at);
    const end = numbers.micros(endOf.get(event.id) ?? last);
    const { row } = faultWords(event.name);
    let track = row;
    for (let beside = 2; (freeAt.get(track) ?? 0) > ts; beside++) track = `${row} (${beside})`;
    freeAt.set(track, end);
    return [
      { ph: 'X', name: event.name, ...numbers.place('the servers', track), ts, dur: end - ts },
    ];
  });
}

/** The answers of each second. */
function secondCounters(events: readonly StageEvent[], numbers: Numbers): TraceEvent[] {
  return events.flatMap((event): TraceEvent[] => {
    if (event.kind !== 'second' || !event.isLoaded) return [];
    const { accepted, unknown, beganAt, second } = event;
    const { pid } = numbers.place('the sale', 'answers');
    const ts = numbers.micros(beganAt) + second * 1_000_000;
    const args = { accepted, refused: refusedIn(event), unknown };
    return [{ ph: 'C', name: 'answers a second', pid, tid: 0, ts, args }];
  });
}
