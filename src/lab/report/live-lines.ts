/** A drill while it runs, for an 80-column terminal: a line for each second, and for each mark. */
import type { Reader, StageEvent } from '../stage/events.ts';
import type { Mark, Second } from '../stage/seconds.ts';
import { Timeline } from '../stage/timeline.ts';
import { markText } from './fault-words.ts';
import { wrap } from './wrap.ts';

const shortReasons: Readonly<Record<string, string>> = {
  'lock-service-unavailable': 'away',
  'already-ordered': 'ordered',
  'database-busy': 'db busy',
};
const reasonColumns = 34;

/** What a line says, before the first one. */
export const liveLegend = [
  'A line: the answers that came in this second, whenever they were asked for.',
  ...Object.entries(shortReasons).map(([reason, short]) => `${short.padEnd(9)}${reason}`),
].join('\n');

export const liveHead = line('second', 'accepted', 'refused', '', 'unknown', 'p99 ms');

export function secondLine({ second, accepted, refusedBecause, unknown, p99Ms }: Second): string {
  const refused = Object.values(refusedBecause).reduce((sum, count) => sum + count, 0);
  const p99 = p99Ms === null ? '–' : p99Ms.toFixed(p99Ms < 100 ? 1 : 0);
  const counts = [accepted, refused].map(String) as [string, string];
  return line(String(second), ...counts, topReasons(refusedBecause), String(unknown), p99);
}

function line(
  second: string,
  accepted: string,
  refused: string,
  reasons: string,
  unknown: string,
  p99: string,
): string {
  const left = `${second.padStart(7)}${accepted.padStart(10)}${refused.padStart(9)}`;
  return `${left}  ${reasons.padEnd(reasonColumns)}${unknown.padStart(8)}${p99.padStart(8)}`;
}

/** The most frequent first; `…` for those that do not fit. */
function topReasons(refusedBecause: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(refusedBecause).sort(([, one], [, other]) => other - one);
  let text = '';
  for (const [reason, count] of sorted) {
    const words = `${shortReasons[reason] ?? reason.replaceAll('-', ' ')} ${count}`;
    const longer = text === '' ? words : `${text}, ${words}`;
    if (longer.length > reasonColumns - 3) return `${text.slice(0, reasonColumns - 3)} …`;
    text = longer;
  }
  return text;
}

export const markLine = (mark: Mark): string =>
  `${(Math.floor(mark.atMs / 100) / 10).toFixed(1).padStart(7)}  ${markText(mark)}`.slice(0, 79);

/**
 * A reader of events: prints the notes at once, and each second when it is over, behind its marks.
 * A second without a load has no line.
 */
export function liveReader(print: (line: string) => void): { read: Reader; end: () => void } {
  const { marks, read } = new Timeline();
  let printed = 0;
  const printMarks = (beforeMs: number): void => {
    for (let mark = marks[printed]; mark && mark.atMs < beforeMs; mark = marks[++printed]) {
      if (printed === 0) for (const text of [liveLegend, liveHead]) print(text);
      print(markLine(mark));
    }
  };
  const readNext = (event: StageEvent): void => {
    read(event);
    if (event.kind === 'note') print(wrap(event.text, 79, '    '));
    if (event.kind !== 'second') return;
    printMarks((event.second + 1) * 1_000);
    if (event.isLoaded) print(secondLine(event));
  };
  return { read: readNext, end: () => printMarks(Number.POSITIVE_INFINITY) };
}
