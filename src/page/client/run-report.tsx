/** The verdict of a run, what it cost, and the numbers behind it. */
import { figureRows, fullCells } from '../../lab/report/figure-rows.ts';
import { meaningIn, type Table as ResultTable } from '../../lab/stage/result.ts';
import { Predicted, PredictionCheck } from './race-verdict.tsx';
import { type RunView, seenVerdict } from './run-model.ts';
import { costTexts } from './run-sentences.ts';
import type { PredictedVerdict } from './run-store.ts';
import { language, page } from './texts.ts';

type Verdict = NonNullable<RunView['verdict']>;

export function RunChip({ verdict }: { verdict: Verdict }) {
  const { words } = page.value;
  const seen = seenVerdict(verdict);
  const isSale = hasSale(verdict);
  const [kind, text] = {
    violated: ['wrong', `✗ ${isSale ? words.violated : words.notAsExpected}`],
    held: ['held', `✓ ${isSale ? words.held : words.asExpected}`],
    unknown: ['so-far', `? ${words.cannotTell}`],
  }[seen];
  return (
    <span class={`chip ${kind}`} data-verdict={seen}>
      {text}
    </span>
  );
}

/** A scoreboard, mutants and errata have no sale of their own whose promises could hold. */
const hasSale = ({ loads = [] }: Verdict): boolean => loads.length > 0;

const reasonsMax = 10;

/** The reasons are the sentences of the audit. */
export function JudgedRun({
  run,
  predicted,
}: {
  run: RunView;
  predicted: PredictedVerdict | undefined;
}) {
  const { verdict } = run;
  if (!verdict) return null;
  const { words, more } = page.value;
  const { reasons, asClaimed = [], conclusions = [] } = verdict;
  const seen = seenVerdict(verdict);
  return (
    <section class="panel outcome" aria-live="polite" data-judged={seen}>
      {predicted && <Predicted predicted={predicted} />}
      <span>
        <b>{hasSale(verdict) ? words.audit : words.seen}</b> <RunChip verdict={verdict} />{' '}
        {seen === 'violated' && <Claimed verdict={verdict} />}
      </span>
      <PredictionCheck predicted={predicted} seen={seen} />
      <ul>
        {costTexts(run).map((text) => (
          <li key={text}>{text}</li>
        ))}
        {conclusions.map((said) => (
          <li key={said.en}>{said[language.value]}</li>
        ))}
        {[...reasons, ...asClaimed].slice(0, reasonsMax).map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
        {reasons.length > reasonsMax && <li>{more(reasons.length - reasonsMax)}</li>}
      </ul>
    </section>
  );
}

/** Undefined: its experiment claims nothing. */
function Claimed({ verdict: { verdict, isAsClaimed } }: { verdict: Verdict }) {
  const { words } = page.value;
  if (isAsClaimed === undefined && verdict !== 'held') return null;
  return isAsClaimed || verdict === 'held' ? (
    words.asClaimed
  ) : (
    <b class="wrong-text">{words.notAsClaimed}</b>
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
        <Table key={table.title} table={table} />
      ))}
      <Numbers title={words.figures} rows={figureRows(figures, language.value)} />
      {!hasRace && <Numbers title={words.faults} rows={counted} />}
      {report && (
        <section>
          <h2>{words.repeatIt}</h2>
          {run.parts.length > 0 && <p class="small">{words.withoutFaults}</p>}
          <pre class="code">{[report.command, ...hints].join('\n')}</pre>
        </section>
      )}
      {report && <Numbers title={words.machine} rows={Object.entries(report.machine)} />}
    </>
  );
}

const Table = ({ table: { title, head, rows, legend = {} } }: { table: ResultTable }) => (
  <section class="wide">
    <h2>{title}</h2>
    <table class="numbers">
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} title={legend[name] && meaningIn(language.value, legend[name])}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {fullCells(row).map((cell, at) => (
              <td key={at}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
    <dl class="meanings">
      {Object.entries(legend).map(([name, means]) => (
        <div key={name}>
          <dt>{name}</dt> <dd>{meaningIn(language.value, means)}</dd>
        </div>
      ))}
    </dl>
  </section>
);

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
