/** The lanes: time runs down, a column for each request. On a phone they are a list. */

import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { LaneView, PlayView, Row } from './play-model.ts';
import { isAgain, isUnanswered, rowSentence } from './sentences.tsx';
import { page } from './texts.ts';

interface LanesProps {
  readonly of: Pick<PlayView, 'lanes' | 'rows'>;
  /** The row at which it differs from another play. */
  readonly differsAt?: number | undefined;
}

const headHeight = 40;
const rowHeight = 48; // Six of them fit a screen of 720 lines.
const margin = 34;

const query = matchMedia('(max-width: 760px)');
const isNarrow = signal(query.matches);
query.addEventListener('change', () => {
  isNarrow.value = query.matches;
});

/** The picture is for the eye: a screen reader has the list. */
export const Lanes = (props: LanesProps) => (
  <>
    {!isNarrow.value && <LanePicture {...props} />}
    <div class={isNarrow.value ? '' : 'for-readers'}>
      <LaneList {...props} />
    </div>
  </>
);

function LaneList({ of, differsAt }: LanesProps) {
  return (
    <ol class="list">
      {of.rows.map((row, index) => {
        const { mark, text, evidence } = rowSentence(row);
        return (
          <li key={index} class={rowClass(row, differsAt === index)}>
            <b>{row.lane}</b> {mark} {text}
            <small>{differsAt === index ? page.value.words.firstDifference : evidence}</small>
          </li>
        );
      })}
    </ol>
  );
}

function rowClass({ kind, word, isWrong, lane }: Row, differs: boolean): string {
  const shownAs = isUnanswered(word) ? 'dead' : isAgain(word) ? 'at' : kind;
  return [`lane-${lane}`, shownAs, isWrong ? 'is-wrong' : '', differs ? 'differs' : '']
    .join(' ')
    .trim();
}

function LanePicture({ of, differsAt }: LanesProps) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const lanes = [...of.lanes.values()];
  const height = of.rows.length * rowHeight + 40;
  useLayoutEffect(() => {
    const top = differsAt === undefined ? height : (differsAt - 4) * rowHeight;
    if (box.current) box.current.scrollTop = top;
  }, [height, differsAt]);
  const column = (name: string) => {
    const index = Math.max(
      0,
      lanes.findIndex((lane) => lane.name === name),
    ); // Or of a server.
    return margin + 20 + (index * (width - margin)) / lanes.length;
  };
  return (
    <>
      <svg class="heads" width={width} height={headHeight} aria-hidden="true">
        {lanes.map((lane) => (
          <LaneHead key={lane.name} lane={lane} x={column(lane.name)} />
        ))}
      </svg>
      <div class="lanes" ref={box}>
        <svg width={width} height={height} aria-hidden="true">
          {differsAt !== undefined && (
            <rect class="differs" width={width} rx="6" y={yOf(differsAt) - 18} height={rowHeight} />
          )}
          {lanes.map((lane) => (
            <LaneLine key={lane.name} lane={lane} x={column(lane.name)} height={height} />
          ))}
          {of.rows.map((row, index) => (
            <RowMark
              {...{ row, index, differs: differsAt === index }}
              key={index}
              x={column(row.lane)}
              isLast={lanes.length > 2 && row.lane === lanes.at(-1)?.name}
            />
          ))}
        </svg>
      </div>
    </>
  );
}

const yOf = (index: number): number => index * rowHeight + 18;

interface LaneProps {
  readonly lane: LaneView;
  readonly x: number;
}

/** It stays while the steps scroll. */
const LaneHead = ({ lane: { name, userId, instance }, x }: LaneProps) => (
  <>
    <text x={x - 12} y="24" class="name">
      {name}
    </text>
    <text x={x + 14} y="24" class="d">
      {userId ? page.value.userOn(userId, instance) : page.value.laneOf(name)}
    </text>
  </>
);

function LaneLine({ lane: { state, userId }, x, height }: LaneProps & { readonly height: number }) {
  return (
    <g>
      <path class="line" d={`M${x} 0V${height - 14}`} />
      {state === 'waits' && <path class="waiting" d={`M${x} ${height - 36}V${height - 22}`} />}
      {state !== 'answered' && !(state === 'idle' && userId === '') && (
        <circle class={`end ${state}`} cx={x} cy={height - 14} r="8" />
      )}
    </g>
  );
}

interface RowProps {
  readonly row: Row;
  readonly index: number;
  readonly x: number;
  readonly differs: boolean;
  /** Its text stands on the left: on the right there is no room. */
  readonly isLast: boolean;
}

function RowMark({ row, index, x, differs, isLast }: RowProps) {
  const { mark, text, evidence } = rowSentence(row);
  const y = yOf(index);
  const side = isLast ? { x: x - 20, 'text-anchor': 'end' } : { x: x + 20 };
  return (
    <g class={rowClass(row, differs)} data-kind={row.kind} data-lane={row.lane}>
      <text x="2" y={y + 6} class="n">
        {index + 1}
      </text>
      <circle class="mark" cx={x} cy={y} r="11" />
      <text class="sign" x={x} y={y + 5} text-anchor="middle">
        {mark === '●' ? '' : mark}
      </text>
      <text {...side} y={y + 3} class="text">
        {text}
      </text>
      <text {...side} y={y + 23} class="d">
        {differs ? page.value.words.firstDifference : evidence}
      </text>
    </g>
  );
}

export function useWidth(box: { readonly current: HTMLDivElement | null }): number {
  const width = useRef(signal(600)).current;
  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return;
    const measure = () => {
      width.value = current.clientWidth;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, [box, width]);
  return width.value;
}
