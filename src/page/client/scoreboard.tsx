/** Which lock survives what: what was published, what was seen here, and each cell plays it. */

import type { ScoredCell } from '../../lab/stage/events.ts';
import { type ScoreTable, scoreTable } from './built-rows.ts';
import { verdictMarks } from './cards.tsx';
import { stepOf } from './controls.tsx';
import { known } from './predictions.ts';
import { Link, type RunAddress, wantedBreak } from './route.tsx';
import { runName } from './store.ts';
import { ladder, page } from './texts.ts';

export function Scoreboard() {
  const { words } = page.value;
  const { faults, outages } = scoreTable;
  return (
    <main>
      <h1>{words.scoreboard}</h1>
      <p>{words.scoreboardIs}</p>
      <Safety
        faults={faults}
        rows={scoreTable.rows.map(({ rung, safety }) => ({
          rung,
          cells: safety.map(
            (cell) => cell && { text: cell.mark, wanted: { of: 'race', race: cell.race, rung } },
          ),
        }))}
      />
      <Outages
        outages={outages}
        rows={scoreTable.rows.map(({ rung, outages: played }) => ({
          rung,
          cells: played.map((text) => (text === '' ? null : { text, wanted: wantedBreak(rung) })),
        }))}
      />
    </main>
  );
}

/** A scoreboard that was played: each cell says what was seen there. */
export function PlayedScores({ cells }: { cells: readonly ScoredCell[] }) {
  const rowsWith = (isOutage: boolean, names: readonly string[]): Row[] => {
    const own = cells.filter((cell) => cell.isOutage === isOutage).map(({ rung }) => rung);
    return [...new Set(own)].map((rung) => ({
      rung,
      cells: names.map((name) => playedIn(cells, rung, name)),
    }));
  };
  const { faults, outages } = scoreTable;
  const isPlayed = (name: string) => cells.some(({ fault }) => fault === name);
  const [raced, sold] = [faults.filter(isPlayed), outages.filter(isPlayed)];
  return (
    <>
      {raced.length > 0 && <Safety faults={raced} rows={rowsWith(false, raced)} />}
      {sold.length > 0 && <Outages outages={sold} rows={rowsWith(true, sold)} />}
    </>
  );
}

function playedIn(cells: readonly ScoredCell[], rung: string, fault: string): Cell | null {
  const cell = cells.find((each) => each.rung === rung && each.fault === fault);
  return cell ? { text: cell.mark, says: `${rung}, ${fault}: ${cell.says}` } : null;
}

function Safety({ faults, rows }: { faults: ScoreTable['faults']; rows: readonly Row[] }) {
  const { words } = page.value;
  const texts = faults.map((fault) => ladder.value.circumstances[fault]);
  return (
    <>
      <h2>{words.isSaleRight}</h2>
      <p class="small">{words.marks}</p>
      <ol class="small columns">
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
      <Table head={faults.map((_, index) => String(index + 1))} titles={texts} rows={rows} />
    </>
  );
}

function Outages({ outages, rows }: { outages: readonly string[]; rows: readonly Row[] }) {
  const { words } = page.value;
  const names = outages.map((name) => page.value.outage(name));
  return (
    <>
      <h2>{words.doesItSell}</h2>
      <p class="small">{words.outagesAre}</p>
      <Table head={names} titles={names} rows={rows} />
    </>
  );
}

/** It plays what is wanted, or says what was seen. */
interface Cell {
  readonly text: string;
  readonly wanted?: RunAddress;
  readonly says?: string;
}

interface Row {
  readonly rung: string;
  readonly cells: readonly (Cell | null)[];
}

interface TableProps {
  readonly head: readonly string[];
  readonly titles: readonly string[];
  readonly rows: readonly Row[];
}

function Table({ head, titles, rows }: TableProps) {
  return (
    <div class="wide">
      <table class="score" onKeyDown={walkCells}>
        <thead>
          <tr>
            <th />
            {head.map((name, index) => (
              <th key={name} title={titles[index]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.rung}>
              <th>{row.rung}</th>
              {row.cells.map((cell, index) => (
                <td key={head[index]}>{cell && <ScoreCell cell={cell} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What was published, and beside it what was seen here. */
function ScoreCell({ cell: { text, wanted, says } }: { cell: Cell }) {
  const kind = /[✗!]/.test(text) ? 'wrong' : /[∥⊘?–]/.test(text) ? 'wait' : 'held';
  if (!wanted)
    return (
      <span class={`${kind}-text`} data-says title={says}>
        {text}
      </span>
    );
  const seen = known.value.get(runName(wanted))?.verdict;
  return (
    <Link to={{ is: 'run', ...wanted }} data-cell={runName(wanted)} class={`${kind}-text`}>
      {text}
      {seen && wanted.of === 'race' && <small data-seen={seen}> {verdictMarks[seen]}</small>}
    </Link>
  );
}

/** The arrow keys go from cell to cell. */
function walkCells(event: KeyboardEvent): void {
  const step = stepOf(event);
  const cell = event.target instanceof Element && event.target.closest('td');
  if (!step || !cell || !(event.currentTarget instanceof HTMLTableElement)) return;
  const { rows } = event.currentTarget;
  let [row, column] = [(cell.parentElement as HTMLTableRowElement).rowIndex, cell.cellIndex];
  for (;;) {
    row += step[0];
    column += step[1];
    const next = rows[row]?.cells[column];
    if (!next) return;
    const link = next.querySelector('a');
    if (!link) continue; // It was not played.
    event.preventDefault();
    link.focus();
    return;
  }
}
