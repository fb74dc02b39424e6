/** The curve of `bench saturate`, for an 80-column terminal. */
import type { Saturation, SaturationStep } from '../benchmarks/saturation.ts';
import { spreadOfKnown } from '../benchmarks/spread.ts';
import { faultsText, otherWorkText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function saturationText(result: Saturation): string {
  const { best, steps, faults, rung, mostP99Ms, seconds, instances } = result;
  const headline = best
    ? `${rung} sustains ${best.rate} purchases/s: p99 ${best.p99Ms.toFixed(1)} ms, none dropped`
    : `${rung} sustains no rate`;
  return [
    headline,
    plainTable(
      ['rate/s', 'accepted', 'dropped', 'p50 ms', 'p99 ms', 'most ms', 'api µs', 'k6 µs', ''],
      steps.toSorted((one, other) => one.rate - other.rate).map((step) => row(step, best)),
    ),
    `✓ sustained: p99 ≤ ${mostP99Ms} ms, nothing dropped or refused   ★ and again, as the headline
Open model: k6 with constant-arrival-rate, ${seconds} s for each rate, each request by another
user, ${instances} instances behind one nginx. A latency counts from the moment at which the
request was due. k6 is on the same machine: its CPU is not left for the service.
${otherWorkText(spreadOfKnown(steps.map(({ otherWork }) => otherWork)))}`,
    faultsText(faults),
  ].join('\n\n');
}

function row(step: SaturationStep, best: SaturationStep | null): string[] {
  const { rate, accepted, dropped, p50Ms, p99Ms, mostMs, cpu, isGood } = step;
  const goodMark = step === best ? '★' : '✓';
  return [
    ...[rate, accepted, dropped].map(String),
    ...[p50Ms, p99Ms, mostMs, cpu.api ?? Number.NaN, cpu.load ?? Number.NaN].map(rounded),
    isGood ? goodMark : '✗',
  ];
}

const rounded = (value: number): string => (Number.isNaN(value) ? '?' : value.toFixed(0));
