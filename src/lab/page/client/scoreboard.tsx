/** Which lock survives what: what was published, what was seen here, and each cell plays it. */
import { addressOf, show, wantedBreak } from './route.ts';
import { runName } from './run-store.ts';
import { type ScoreRow, scoreTable } from './score-rows.ts';
import { seenRuns } from './seen-runs.ts';
import type { View, WantedRun } from './store.ts';
import { ladder, page } from './texts.ts';

export function Scoreboard() {
  const { words } = page.value;
  const { faults, outages } = scoreTable;
  return (
    <main>
      <h1>{words.scoreboard}</h1>
      <p>{words.scoreboardIs}</p>
      <h2>{words.isSaleRight}</h2>
      <Table
        head={faults.map((_, index) => String(index + 1))}
        titles={faults.map((fault) => ladder.value.circumstances[fault])}
        cellsOf={({ rung, safety }) =>
          safety.map((cell) => cell && { text: cell.mark, wanted: raceWanted(cell.race, rung) })
        }
      />
      <ol class="small">
        {faults.map((fault) => (
          <li key={fault}>{ladder.value.circumstances[fault]}</li>
        ))}
      </ol>
      <p class="small">{words.marks}</p>
      <h2>{words.doesItSell}</h2>
      <Table
        head={outages.map((name) => page.value.outage(name))}
        titles={outages.map((name) => page.value.outage(name))}
        cellsOf={({ rung, outages: played }) =>
          played.map((text) => (text === '' ? null : { text, wanted: wantedBreak(rung) }))
        }
      />
      <p class="small">{words.outagesAre}</p>
    </main>
  );
}

const raceWanted = (race: string, rung: string): WantedRun => ({ of: 'race', race, rung });

interface Cell {
  readonly text: string;
  readonly wanted: WantedRun;
}

interface TableProps {
  readonly head: readonly string[];
  readonly titles: readonly string[];
  readonly cellsOf: (row: ScoreRow) => readonly (Cell | null)[];
}

function Table({ head, titles, cellsOf }: TableProps) {
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
          {scoreTable.rows.map((row) => (
            <tr key={row.rung}>
              <th>{row.rung}</th>
              {cellsOf(row).map((cell, index) => (
                <td key={head[index]}>{cell && <ScoreCell cell={cell} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const seenMarks = { held: '✓', violated: '✗', unknown: '?' } as const;

/** What was published, and beside it what was seen here. */
function ScoreCell({ cell: { text, wanted } }: { cell: Cell }) {
  const view: View = { is: 'run', ...wanted };
  const seen = seenRuns.value.get(runName(wanted));
  return (
    <a
      href={addressOf(view)}
      data-cell={runName(wanted)}
      class={/[✗]/.test(text) ? 'wrong-text' : /[∥⊘?–]/.test(text) ? 'wait-text' : 'held-text'}
      onClick={(event) => {
        event.preventDefault();
        show(view);
      }}
    >
      {text}
      {seen && wanted.of === 'race' && <small data-seen={seen}> {seenMarks[seen]}</small>}
    </a>
  );
}

/** The arrow keys go from cell to cell. */
function walkCells(event: KeyboardEvent): void {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[
    event.key
  ];
  const cell = event.target instanceof Element && event.target.closest('td');
  if (!step || !cell || !(event.currentTarget instanceof HTMLTableElement)) return;
  const { rows } = event.currentTarget;
  let [row, column] = [(cell.parentElement as HTMLTableRowElement).rowIndex, cell.cellIndex];
  for (;;) {
    row += step[0] ?? 0;
    column += step[1] ?? 0;
    const next = rows[row]?.cells[column];
    if (!next) return;
    const link = next.querySelector('a');
    if (!link) continue; // It was not played.
    event.preventDefault();
    link.focus();
    return;
  }
}
