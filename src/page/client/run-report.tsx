/** The verdict of a run or of a race, what it cost, and the numbers behind it. */

import type { ComponentChildren } from 'preact';
import { figureRows } from '../../lab/report/verdict-words.ts';
import { evidenceIn, type Table as ResultTable, textIn } from '../../lab/stage/result.ts';
import { cellText, meaningsOf } from '../../lab/stage/table.ts';
import type { Verdict } from '../../service/domain.ts';
import { ladderRow } from './built-rows.ts';
import { Chip, VerdictCard } from './cards.tsx';
import type { RaceView } from './play-model.ts';
import type { Prediction } from './predictions.ts';
import { ProofOfRace } from './proof.tsx';
import { type RunView, seenVerdict } from './run-model.ts';
import { costTexts } from './sentences.tsx';
import { ladder, language, page } from './texts.ts';

type RunVerdict = NonNullable<RunView['verdict']>;

export function RunChip({ verdict }: { verdict: RunVerdict }) {
  const { words } = page.value;
  const seen = seenVerdict(verdict);
  const [held, violated] = hasSale(verdict)
    ? [words.held, words.violated]
    : [words.asExpected, words.notAsExpected];
  const texts = { held, violated, unknown: words.cannotTell };
  return <Chip verdict={seen} text={texts[seen]} />;
}

/** A scoreboard, mutants and errata have no sale of their own whose promises could hold. */
const hasSale = ({ loads = [] }: RunVerdict): boolean => loads.length > 0;

type JudgedRace = NonNullable<RaceView['judged']>;

export function RaceChip({ judged: { verdict, shows } }: { judged: JudgedRace }) {
  const { words } = page.value;
  const promise = ladder.value.checks[shows];
  const texts = {
    violated: `${words.violated}: ${promise}`,
    held: `${words.heldPromise}: ${promise}`,
    unknown: words.cannotTell,
  };
  return <Chip verdict={verdict} text={texts[verdict]} />;
}

interface JudgedCardProps {
  readonly predicted: Prediction | undefined;
  readonly seen: Verdict;
  readonly title: string;
  readonly chip: ComponentChildren;
  /** Undefined: nothing was claimed. */
  readonly isAsClaimed: boolean | undefined;
  readonly children: ComponentChildren;
}

/** Where nobody can tell, nobody was right or wrong. */
function JudgedCard({ predicted, seen, title, chip, isAsClaimed, children }: JudgedCardProps) {
  const { words } = page.value;
  const isRight = predicted && seen !== 'unknown' ? predicted === seen : undefined;
  const claimed = isAsClaimed ? words.asClaimed : <b class="wrong-text">{words.notAsClaimed}</b>;
  const audit = (
    <span>
      <b>{title}</b> {chip} {isAsClaimed !== undefined && claimed}
    </span>
  );
  return (
    <VerdictCard {...{ predicted, isRight, audit, children }} found={{ 'data-judged': seen }} />
  );
}

const reasonsMax = 10;

interface Judged<Of> {
  readonly of: Of;
  readonly predicted: Prediction | undefined;
}

/** The reasons are the sentences of the audit. */
export function JudgedRun({ of: run, predicted }: Judged<RunView>) {
  const { verdict } = run;
  if (!verdict) return null;
  const { words, more } = page.value;
  const { reasons, asClaimed = [], conclusions = [] } = verdict;
  const seen = seenVerdict(verdict);
  return (
    <JudgedCard
      {...{ predicted, seen, chip: <RunChip verdict={verdict} /> }}
      title={hasSale(verdict) ? words.audit : words.seen}
      isAsClaimed={
        seen !== 'violated' ? undefined : verdict.verdict === 'held' || verdict.isAsClaimed
      }
    >
      <ul>
        {costTexts(run).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {conclusions.map((said) => (
          <li key={said.en}>{said[language.value]}</li>
        ))}
        {[...reasons, ...asClaimed].slice(0, reasonsMax).map((reason) => (
          <li key={textIn('en', reason)}>{textIn(language.value, reason)}</li>
        ))}
        {reasons.length > reasonsMax && <li>{more(reasons.length - reasonsMax)}</li>}
      </ul>
    </JudgedCard>
  );
}

/** The verdict on the promise that the race is about, and the proof. */
export function JudgedRaceCard({ of: { judged, rung }, predicted }: Judged<RaceView>) {
  if (!judged) return null;
  const { words, checkNames } = page.value;
  const { verdict: seen, isAsClaimed, evidence, proof } = judged;
  const row = ladderRow(rung);
  const also = judged.alsoBroken.map((each) => ladder.value.checks[each]);
  return (
    <>
      <JudgedCard
        {...{ predicted, seen, isAsClaimed, chip: <RaceChip judged={judged} /> }}
        title={words.audit}
      >
        {also.length > 0 && (
          <span>
            <b>{words.alsoBroken}</b> {checkNames(also)}
          </span>
        )}
        {evidence && <p>{evidenceIn(language.value, judged)}</p>}
      </JudgedCard>
      {proof && proof.events.length > 0 && <ProofOfRace proof={proof} />}
      {row && <p class="lesson">{ladder.value.rungs[row.name].lesson}</p>}
    </>
  );
}

/** @param hasRace its lanes and its verdict are above */
export function RunTables({ run, hasRace }: { run: RunView; hasRace: boolean }) {
  const { verdict, over } = run;
  if (!verdict) return null;
  const { words } = page.value;
  const { figures, tables = [], faults, hints = [] } = verdict;
  const report = over?.report;
  const counted = Object.entries(faults).map(([name, times]) => [name, `${times} ×`] as const);
  return (
    <>
      {tables.map((table) => (
        <Table key={textIn('en', table.title)} table={table} />
      ))}
      <Numbers title={words.figures} rows={figureRows(figures, language.value)} />
      {!hasRace && <Numbers title={words.faults} rows={counted} />}
      {report && (
        <section>
          <h2>{words.repeatIt}</h2>
          {run.parts.length > 0 && <p class="small">{words.withoutFaults}</p>}
          <pre class="code">
            {[report.command, ...hints.map((hint) => textIn(language.value, hint))].join('\n')}
          </pre>
        </section>
      )}
      {report && <Numbers title={words.machine} rows={Object.entries(report.machine)} />}
    </>
  );
}

function Table({ table }: { table: ResultTable }) {
  const { title, head, rows } = table;
  const meanings = meaningsOf(table, language.value);
  const names = head.map((name) => textIn(language.value, name));
  return (
    <section class="wide">
      <h2>{textIn(language.value, title)}</h2>
      <table class="numbers">
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} title={meanings.find(([of]) => of === name)?.[1]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td key={at}>{cellText(language.value, cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <dl class="meanings">
        {meanings.map(([name, means]) => (
          <div key={name}>
            <dt>{name}</dt> <dd>{means}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

interface NumbersProps {
  readonly title: string;
  readonly rows: readonly (readonly [string, string])[];
}

/** Nothing where there is none. */
function Numbers({ title, rows }: NumbersProps) {
  if (rows.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <table class="numbers">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th>{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
