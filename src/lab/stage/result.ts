/** What every experiment returns, and what the runner adds to it. */
import type { Facts } from '../../service/audit/facts.ts';
import type { CheckName, Verdict } from '../../service/domain.ts';
import type { RecordedEvidence } from '../../texts/evidence.ts';
import type { Bilingual, Language } from '../../texts/texts.ts';
import type { TimelineRecord } from './seconds.ts';

export type { Bilingual } from '../../texts/texts.ts';

/** A name, a code or a number is the same in every language. */
export type Text = Bilingual | string;

export const textIn = (language: Language, text: Text): string =>
  typeof text === 'string' ? text : text[language];

/** `redlock: nobody bought` */
export const ofName = (name: Text, text: Text): Bilingual => ({
  en: `${textIn('en', name)}: ${textIn('en', text)}`,
  zh: `${textIn('zh', name)}：${textIn('zh', text)}`,
});

export const joinedTexts = (all: readonly Text[]): Bilingual => ({
  en: all.map((each) => textIn('en', each)).join('; '),
  zh: all.map((each) => textIn('zh', each)).join('；'),
});

/** In English where an older file has nothing else. */
export const evidenceIn = (
  language: Language,
  { evidence, evidenceZh = evidence }: RecordedEvidence,
): string => (language === 'zh' ? evidenceZh : evidence);

/** A text; where a terminal has no room for all of it, its short form, too. */
export type TableCell = Text | { readonly short: string; readonly full: string };

export interface Table {
  readonly title: Text;
  /** What a column or a cell says, by its English name, where the name alone does not tell it. */
  readonly legend?: Readonly<Record<string, Text>>;
  /** The columns at the left that are text (2); the others are numbers, and stand at the right. */
  readonly textColumns?: number;
  /** The last column is text, too. */
  readonly endsInText?: true;
  /** No space between the columns: their widths have it. */
  readonly isTight?: true;
  /** The least width of each column: the rows come one by one, or two tables are to be alike. */
  readonly widths?: readonly number[];
  /** A terminal has no room for it: it is on the page and in the documents only. */
  readonly isWide?: true;
  readonly head: readonly Text[];
  readonly rows: readonly (readonly TableCell[])[];
}

/** What an experiment says. `Own` is what only this one has, for a report of its own. */
export interface Judged<Own = unknown> {
  readonly verdict: Verdict;
  /** Whether the ladder claims this verdict. Without it, `held` is the expected one. */
  readonly isAsClaimed?: boolean;
  /** One sentence for each rung: what it did while servers were away. */
  readonly conclusions?: readonly Bilingual[];
  /** One sentence for each reason of a verdict that is not `held`. */
  readonly reasons: readonly Bilingual[];
  /** One sentence for each violation that the ladder claims, and that showed as it should. */
  readonly asClaimed?: readonly Bilingual[];
  /** Of an experiment about one promise: the others that broke, by the names of their checks. */
  readonly alsoBroken?: readonly CheckName[];
  readonly figures: Readonly<Record<string, number>>;
  /** Commands to try next, one in a line. */
  readonly hints?: readonly Text[];
  readonly tables?: readonly Table[];
  /** The faults by kind, where their names would be many: `kill instance`. */
  readonly faults?: Readonly<Record<string, number>>;
  /** The ids of accepted orders that are nowhere, where it has looked for them. */
  readonly lost?: readonly string[] | undefined;
  /** Of the vouchers whose audit did not hold, so that the reasons can be checked. */
  readonly facts: readonly Facts[];
  readonly own?: Own;
}

/** Whether a result is as expected; `unknown` when it could not be told. */
export type Answer = 'yes' | 'no' | 'unknown';

/** Where `held` is the expected one. */
export const answerOf: Readonly<Record<Verdict, Answer>> = {
  held: 'yes',
  violated: 'no',
  unknown: 'unknown',
};

export function isAsExpected({ verdict, isAsClaimed }: Judged): Answer {
  if (verdict === 'unknown' || isAsClaimed === undefined) return answerOf[verdict];
  return isAsClaimed ? 'yes' : 'no';
}

/** All of a result but what it was judged by: told at the end. */
export type ResultSummary = Omit<Result, 'facts' | 'own' | 'lost' | 'recorded'> &
  Pick<TimelineRecord, 'loads'>;

export interface Result<Own = unknown> extends Judged<Own> {
  /** How often each fault was injected, by its name, `kill redis-main`, or by its kind. */
  readonly faults: Readonly<Record<string, number>>;
  /** Ctrl-C ended it: the figures are what was seen until then. */
  readonly isInterrupted: boolean;
  readonly recorded: TimelineRecord;
}
