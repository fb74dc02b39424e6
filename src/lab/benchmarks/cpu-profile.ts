/** A CPU profile of V8: its calls, the time of each part of the program, and its flame graph. */
import { z } from 'zod';

export const CpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string() }),
      children: z.array(z.number()).default([]),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
export type CpuProfile = z.output<typeof CpuProfile>;
type ProfileNode = CpuProfile['nodes'][number];

/** The first pattern that is found in `url function` names the part. */
const patterns = [
  [/ (writev|write\w+String|writeBuffer|readStart)$/, 'sockets: write'],
  [/ \(garbage collector\)$/, 'garbage collection'],
  [/ \(program\)$/, 'sockets: read, wait (native)'],
  [/internal\/crypto|http\/(tokens|hs256|hmac)/, 'token'],
  [/(ioredis|standard-as-callback|denque|cluster-key-slot)\//, 'Redis client'],
  [/node_modules\/(@hono|hono)\//, 'Hono and its adapter'],
  [/node:(_http|internal\/(http|url|querystring))/, 'HTTP of Node'],
  [/node:/, 'streams, events, timers of Node'],
  [/\/dist\/service\/(http|bin)\//, 'service: routes, headers, answers'],
  [/\/dist\//, 'service: the sale'],
] as const;

/** A native function belongs to the part that called it. */
function partOf({ callFrame: { functionName, url } }: ProfileNode, caller: string): string {
  const text = `${url} ${functionName}`;
  return patterns.find(([pattern]) => pattern.test(text))?.[1] ?? caller;
}

export interface Call {
  readonly name: string;
  readonly part: string;
  /** Microseconds, without the functions that it called. */
  self: number;
  total: number;
  readonly calls: Map<string, Call>;
}

const newCall = (name: string, part: string): Call => ({
  name,
  part,
  self: 0,
  total: 0,
  calls: new Map(),
});

/** No work for a request. */
const leftOut = ['(idle)', 'takeProfile'];

/**
 * The calls of the same function by the same caller are one. Idle time is left out, and so is the
 * start of the profiler.
 */
export function callTree({ nodes, samples, timeDeltas }: CpuProfile): Call {
  const times = new Map<number, number>();
  for (const [index, id] of samples.entries())
    times.set(id, (times.get(id) ?? 0) + (timeDeltas[index] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));

  function add(into: Call, node: ProfileNode): void {
    const { functionName, url } = node.callFrame;
    if (leftOut.includes(functionName)) return;
    const name = functionName || 'anonymous';
    const key = `${name} ${url}`;
    const call = into.calls.get(key) ?? newCall(name, partOf(node, into.part));
    into.calls.set(key, call);
    const before = call.total;
    call.self += times.get(node.id) ?? 0;
    call.total += times.get(node.id) ?? 0;
    for (const id of node.children) {
      const child = byId.get(id);
      if (child) add(call, child);
    }
    into.total += call.total - before;
  }

  const root = newCall('all', 'other');
  const [first] = nodes;
  for (const id of first?.children ?? []) {
    const child = byId.get(id);
    if (child) add(root, child);
  }
  return root;
}

export interface Part {
  readonly part: string;
  /** Of the time that the process was not idle. */
  readonly share: number;
}

/** The largest first. */
export function shareOfParts(root: Call): Part[] {
  const times = new Map<string, number>();
  const add = ({ part, self, calls }: Call): void => {
    times.set(part, (times.get(part) ?? 0) + self);
    for (const call of calls.values()) add(call);
  };
  add(root);
  const parts = [...times].map(([part, time]) => ({ part, share: time / root.total }));
  return parts.filter(({ share }) => share > 0).sort((one, other) => other.share - one.share);
}

// The flame graph. Source. Brendan Gregg, flame graphs.
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

/**
 * One SVG file: the width of a function is its time with all that it called, and a colour is a part
 * of the program. A browser shows the name and the share of what the mouse is on.
 */
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
