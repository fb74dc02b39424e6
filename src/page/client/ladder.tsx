/** The Ladder view: every rung, what it claims, and what the viewer saw there. */

import { signal } from '@preact/signals';
import { lanesOf } from '../../lab/play/letters.ts';
import { type FamousRace, type LadderRow, ladderRows } from './built-rows.ts';
import { Button } from './controls.tsx';
import { mayBegin, mayPlay } from './faults.ts';
import { type KnownOutcome, known } from './predictions.ts';
import { SourceLines } from './race.tsx';
import { Link, show, type View } from './route.tsx';
import { go } from './store.ts';
import { ladder, language, page } from './texts.ts';

const chapters = [1, 2, 3, 4, 5, 6] as const;
type Chapter = (typeof chapters)[number];
const selected = signal('');

const rowsIn = (chapter: number): LadderRow[] =>
  ladderRows.filter((row) => row.chapter === chapter);

export const selectedRow = (chapter: number): LadderRow | undefined =>
  rowsIn(chapter).find(({ name }) => name === selected.value) ?? rowsIn(chapter)[0];

export function Ladder({ chapter }: { chapter: number }) {
  const row = selectedRow(chapter);
  return (
    <main>
      <h1>{chapterTitle(chapter as Chapter)}</h1>
      <div class="cols">
        <nav class="chapters" aria-label={page.value.words.chapter}>
          {chapters.map((each) => (
            <ChapterLink key={each} chapter={each} isCurrent={each === chapter} />
          ))}
          <Score />
        </nav>
        <Rungs chapter={chapter} selectedName={row?.name ?? ''} />
        {row && <About row={row} />}
      </div>
    </main>
  );
}

const chapterTitle = (chapter: Chapter): string => `${chapter} · ${ladder.value.chapters[chapter]}`;

function ChapterLink({ chapter, isCurrent }: { chapter: Chapter; isCurrent: boolean }) {
  const wanted = { is: 'ladder', chapter } as const;
  const rows = rowsIn(chapter);
  const seen = rows.filter(({ name }) => known.value.get(name)?.seen).length;
  return (
    <Link
      to={wanted}
      aria-current={isCurrent ? 'page' : undefined}
      onGo={() => {
        selected.value = '';
        show(wanted);
      }}
    >
      {chapterTitle(chapter)}
      <small>{rows.length > 0 ? `${seen}/${rows.length}` : '–'}</small>
    </Link>
  );
}

function Score() {
  const all = [...known.value.values()].filter(({ isRight }) => isRight !== undefined);
  const right = all.filter(({ isRight }) => isRight).length;
  const { words } = page.value;
  return all.length === 0 ? null : (
    <p class="small">
      {words.right}: {right}/{all.length}
    </p>
  );
}

function Rungs({ chapter, selectedName }: { chapter: number; selectedName: string }) {
  const { words } = page.value;
  return (
    <table class="rungs">
      <thead>
        <tr>
          <th>{words.rung}</th>
          <th>{words.lastSeen}</th>
          <th>{words.claim}</th>
          <th>{words.salesPerSecond}</th>
        </tr>
      </thead>
      <tbody>
        {rowsIn(chapter).map((row) => (
          <RungRow key={row.name} row={row} isSelected={row.name === selectedName} />
        ))}
      </tbody>
    </table>
  );
}

/** It is to be predicted first; what nobody can play here is no question. */
const isTold = (row: LadderRow): boolean => known.value.has(row.name) || !mayPlay(row);

const claim = (row: LadderRow, { broken, orders }: NonNullable<LadderRow['orders']>) =>
  isTold(row) ? page.value.ofOrders(broken, orders) : <span class="dim">?</span>;

function RungRow({ row, isSelected }: { row: LadderRow; isSelected: boolean }) {
  return (
    <tr aria-selected={isSelected}>
      <td>
        <Button
          class="plain"
          data-rung={row.name}
          onClick={() => {
            selected.value = row.name;
          }}
        >
          {row.name}
        </Button>
        <small>{ladder.value.rungs[row.name].idea}</small>
      </td>
      <td>
        <Seen known={known.value.get(row.name)} />
      </td>
      <td>{row.orders ? claim(row, row.orders) : '–'}</td>
      <td>{row.salesPerSecond ?? '–'}</td>
    </tr>
  );
}

function Seen({ known: { seen, isBroken } = {} }: { known: KnownOutcome | undefined }) {
  const { words, outcomeShort } = page.value;
  if (!seen) return <span class="dim">? {words.notPlayed}</span>;
  return isBroken ? (
    <b class="wrong-text">✗ {outcomeShort[seen]}</b>
  ) : (
    <b class="held-text">✓ {outcomeShort[seen]}</b>
  );
}

function About({ row }: { row: LadderRow }) {
  const { words } = page.value;
  const { idea, lesson } = ladder.value.rungs[row.name];
  const source = Object.values(row.sources).find((each) => each);
  return (
    <aside class="panel">
      <h2>{row.name}</h2>
      <p>{idea}</p>
      {mayPlay(row) ? (
        <Button class="next" data-play shortcut="↵" onClick={() => playRung(row)}>
          {words.play}
        </Button>
      ) : (
        <p class="dim">{page.value.room.instructorsAlone}</p>
      )}
      {known.value.get(row.name)?.seen && <p class="lesson">{lesson}</p>}
      <Races row={row} />
      {isTold(row) && <Faults row={row} />}
      {source && <h2>{words.theCode}</h2>}
      {source && <SourceLines source={source} />}
    </aside>
  );
}

/** By hand, where its faults are choices; else it plays itself. */
const viewOf = ({ name, byHand }: FamousRace, rung: string): RaceOrRun =>
  byHand
    ? { is: 'race', rung, stopsEverywhere: false, ...byHand, lanes: lanesOf(byHand.choices).length }
    : { is: 'run', of: 'race', race: name, rung };

type RaceOrRun = Extract<View, { readonly is: 'race' | 'run' }>;

/** Each is a link. */
function Races({ row }: { row: LadderRow }) {
  const races = row.races.filter(mayBegin);
  if (races.length === 0) return null;
  return (
    <>
      <h2>{page.value.words.famous}</h2>
      {races.map((race) => {
        const { name, title } = race;
        const wanted = viewOf(race, row.name);
        return (
          <p key={name}>
            <Link
              to={wanted}
              data-race={name}
              onGo={() => (wanted.is === 'race' ? go(wanted) : show(wanted))}
            >
              {name}
            </Link>{' '}
            <small>{title[language.value]}</small>
          </p>
        );
      })}
    </>
  );
}

/** Each circumstance once: it may break several promises. */
function Faults({ row }: { row: LadderRow }) {
  const circumstances = [...new Set(row.faults.map(({ under }) => under))];
  if (circumstances.length === 0) return null;
  return (
    <>
      <h2>{page.value.words.breaksWhen}</h2>
      <ul>
        {circumstances.map((under) => (
          <li key={under}>{ladder.value.circumstances[under]}</li>
        ))}
      </ul>
    </>
  );
}

export function playRung(row: LadderRow): void {
  if (mayPlay(row)) go({ rung: row.name, choices: '', lanes: 2, stopsEverywhere: false });
}

/** `by` rows down, or up. */
export function selectRung(chapter: number, by: number): void {
  const rows = rowsIn(chapter);
  const index = rows.findIndex(({ name }) => name === selectedRow(chapter)?.name) + by;
  selected.value = rows[Math.min(rows.length - 1, Math.max(0, index))]?.name ?? '';
}
