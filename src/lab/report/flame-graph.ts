/**
 * A flame graph as one SVG file: the width of a function is its time with all that it called, and a
 * colour is a part of the program. A browser shows the name and the share of what the mouse is on.
 * Source. Brendan Gregg, flame graphs.
 */
import { type Call, shareOfParts } from '../benchmarks/cpu-profile.ts';

const width = 1_200;
const rowHeight = 16;
const legendHeight = 64;
const letterWidth = 6.5;
/** Narrower functions are left out, so that the file stays small. */
const widthMin = 1;
const colours = [
  ...['#e4572e', '#f3a712', '#669bbc', '#76b041', '#a37acc', '#d17b88'],
  ...['#8d99ae', '#c2a83e', '#5fb3b3', '#b08968', '#9fc5e8'],
];
const otherColour = '#cccccc';

interface Box {
  readonly call: Call;
  readonly left: number;
  readonly depth: number;
}

export function flameGraph(root: Call): string {
  const scale = width / root.total;
  const boxes = boxesOf(root, scale);
  const deepest = Math.max(...boxes.map(({ depth }) => depth));
  const height = legendHeight + (deepest + 1) * rowHeight;
  const parts = shareOfParts(root).map(({ part }) => part);
  const colourOf = (part: string) => colours[parts.indexOf(part)] ?? otherColour;
  const drawn = boxes.map((box) => drawBox(box, root, scale, colourOf(box.call.part)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      'font-family="monospace" font-size="11">',
    '<title>Where an instance spends its time</title>',
    ...parts.map((part, index) => legend(part, index, colourOf(part))),
    ...drawn,
    '</svg>',
  ].join('\n');
}

function boxesOf(root: Call, scale: number): Box[] {
  const boxes: Box[] = [];
  const add = (call: Call, left: number, depth: number): void => {
    if (call.total * scale < widthMin) return;
    boxes.push({ call, left, depth });
    let next = left;
    for (const each of call.calls.values()) {
      add(each, next, depth + 1);
      next += each.total * scale;
    }
  };
  add(root, 0, 0);
  return boxes;
}

function drawBox({ call, left, depth }: Box, root: Call, scale: number, colour: string): string {
  const { name, part, total } = call;
  const [x, y] = [left.toFixed(1), legendHeight + depth * rowHeight];
  const wide = total * scale;
  const title = `${name} · ${part} · ${((100 * total) / root.total).toFixed(1)} %`;
  const letters = Math.floor(wide / letterWidth);
  const label = letters > 3 ? escaped(name.slice(0, letters)) : '';
  return (
    `<g><title>${escaped(title)}</title>` +
    `<rect x="${x}" y="${y}" width="${wide.toFixed(1)}" height="${rowHeight - 1}" ` +
    `fill="${colour}"/><text x="${x}" y="${y + 12}">${label}</text></g>`
  );
}

function legend(part: string, index: number, colour: string): string {
  const [x, y] = [(index % 4) * (width / 4), Math.floor(index / 4) * 20];
  return (
    `<rect x="${x}" y="${y}" width="14" height="14" fill="${colour}"/>` +
    `<text x="${x + 20}" y="${y + 12}">${escaped(part)}</text>`
  );
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
