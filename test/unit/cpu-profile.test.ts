/** A CPU profile: the tree of its calls, the time of each part, and the flame graph. */
import { describe, expect, test } from 'vitest';
import {
  CpuProfile,
  callTree,
  flameGraph,
  shareOfParts,
} from '../../src/lab/benchmarks/cpu-profile.ts';

const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
});
const profile = CpuProfile.parse({
  nodes: [
    node(1, '(root)', '', [2, 3, 4, 8, 9]),
    node(2, '(idle)', ''),
    node(3, 'onData', 'node:_http_server', [5]),
    node(4, 'onData', 'node:_http_server', [6]),
    node(5, 'a<b', 'file:///x/dist/service/http/routes/orders.js', [7]),
    node(6, 'a<b', 'file:///x/dist/service/http/routes/orders.js'),
    node(7, 'parse', ''),
    node(8, 'writev', ''),
    node(9, 'takeProfile', 'file:///x/dist/lab/in-service/lab-routes.js', [10]),
    node(10, 'post', 'node:inspector'),
  ],
  samples: [2, 3, 5, 6, 7, 8, 10],
  timeDeltas: [1_000, 10, 20, 30, 15, 25, 500],
});

describe('the tree of calls', () => {
  const root = callTree(profile);

  test('has the busy time, and neither that of the profiler nor any that the process was idle', () => {
    expect(root.total).toBe(100);
  });

  test('makes one call of the calls of a function by the same caller', () => {
    const [onData] = root.calls.values();
    expect(onData).toMatchObject({ name: 'onData', self: 10, total: 75 });
    expect([...(onData?.calls.values() ?? [])]).toMatchObject([{ self: 50, total: 65 }]);
  });

  test('divides the time into parts, where a native function belongs to its caller', () => {
    expect(shareOfParts(root)).toEqual([
      { part: 'service: routes, headers, answers', share: 0.65 },
      { part: 'sockets: write', share: 0.25 },
      { part: 'HTTP of Node', share: 0.1 },
    ]);
  });
});

test('the flame graph names each function, its part and its share, as a text of SVG', () => {
  const svg = flameGraph(callTree(profile));
  expect(svg).toContain('<title>onData · HTTP of Node · 75.0 %</title>');
  expect(svg).toContain('<title>a&lt;b · service: routes, headers, answers · 65.0 %</title>');
  expect(svg).not.toContain('idle');
});
