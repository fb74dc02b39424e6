/** A drill while it runs, for an 80-column terminal: a line for each second, and for each mark. */
import type { Language } from '../../texts/texts.ts';
import type { Reader, StageEvent } from '../stage/events.ts';
import { textIn } from '../stage/result.ts';
import { type Mark, refusedIn, type Second } from '../stage/seconds.ts';
import { Timeline } from '../stage/timeline.ts';
import { markText } from './fault-words.ts';
import { atRight, padded, wrap } from './wrap.ts';

const shortReasons: Readonly<Record<string, string>> = {
  'lock-service-unavailable': 'away',
  'already-ordered': 'ordered',
  'database-busy': 'db busy',
};
const reasonColumns = 34;

type Cells = [
  second: string,
  accepted: string,
  refused: string,
  reasons: string,
  unknown: string,
  p99: string,
];

const about = {
  en: 'A line: the answers that came in this second, whenever they were asked for.',
  zh: '一行：这一秒里收到的响应，不论请求是什么时候发出的。',
} as const;
const heads: Readonly<Record<Language, Cells>> = {
  en: ['second', 'accepted', 'refused', '', 'unknown', 'p99 ms'],
  zh: ['第几秒', '受理', '拒绝', '', '未知', 'p99 ms'],
};

/** What a line says, before the first one. */
export const liveLegend = (language: Language): string =>
  [
    about[language],
    ...Object.entries(shortReasons).map(([reason, short]) => padded(short, 9) + reason),
  ].join('\n');

export const liveHead = (language: Language): string => line(...heads[language]);

export function secondLine({ second, accepted, refusedBecause, unknown, p99Ms }: Second): string {
  const p99 = p99Ms === null ? '–' : p99Ms.toFixed(p99Ms < 100 ? 1 : 0);
  const counts = [accepted, refusedIn({ refusedBecause })].map(String) as [string, string];
  return line(String(second), ...counts, topReasons(refusedBecause), String(unknown), p99);
}

function line(...[second, accepted, refused, reasons, unknown, p99]: Cells): string {
  const left = atRight(second, 7) + atRight(accepted, 10) + atRight(refused, 9);
  return `${left}  ${padded(reasons, reasonColumns)}${atRight(unknown, 8)}${atRight(p99, 8)}`;
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

export const markLine = (mark: Mark, language: Language = 'en'): string => {
  const seconds = (Math.floor(mark.atMs / 100) / 10).toFixed(1);
  return `${seconds.padStart(7)}  ${markText(mark, language)}`.slice(0, 79);
};

/**
 * A reader of events: prints the notes at once, and each second when it is over, behind its marks.
 * A second without a load has no line.
 */
export function liveReader(
  print: (line: string) => void,
  language: Language = 'en',
): { read: Reader; end: () => void } {
  const { marks, read } = new Timeline();
  let printed = 0;
  const printMarks = (beforeMs: number): void => {
    for (let mark = marks[printed]; mark && mark.atMs < beforeMs; mark = marks[++printed]) {
      if (printed === 0) for (const text of [liveLegend, liveHead]) print(text(language));
      print(markLine(mark, language));
    }
  };
  const readNext = (event: StageEvent): void => {
    read(event);
    if (event.kind === 'note') print(wrap(textIn(language, event.text), 79, '    '));
    if (event.kind !== 'second') return;
    printMarks((event.second + 1) * 1_000);
    if (event.isLoaded) print(secondLine(event));
  };
  return { read: readNext, end: () => printMarks(Number.POSITIVE_INFINITY) };
}
