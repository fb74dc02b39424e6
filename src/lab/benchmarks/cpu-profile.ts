/** A CPU profile of V8: the tree of its calls, and the time of each part of the program. */
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
  ...{ name, part, self: 0, total: 0 },
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
