/** The curve of `bench saturate`, for an 80-column terminal. */
import { cpuRoles } from '../benchmarks/cpu-by-role.ts';
import { leastRequests, type Saturation, type SaturationStep } from '../benchmarks/saturation.ts';
import { type Spread, spreadOf, spreadOfKnown } from '../benchmarks/spread.ts';
import { cpuText, faultsText, otherWorkText, rangeText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function saturationText(result: Saturation): string {
  const { best, steps, faults, mostP99Ms, seconds, instances } = result;
  const rates = [...new Set(steps.map(({ rate }) => rate))].sort((one, other) => one - other);
  const head = ['rate/s', 'accepted/s', 'dropped', 'p50 ms', 'p99 ms', 'least..most', 'api µs'];
  return [
    headline(result),
    plainTable(
      [...head, 'k6 µs', 'good'],
      rates.map((rate) => row(stepsOf(steps, rate), rate === best)),
    ),
    `good  measurements with p99 ≤ ${mostP99Ms} ms, and nothing dropped or refused;
      two of at most three decide. ★ the highest rate that is sustained
Medians. Open model: k6 with constant-arrival-rate; a measurement has at least
${seconds} s and ${leastRequests} requests, each by another user; ${instances} instances
behind one nginx. A latency counts from the moment at which the request was due.
k6 is on the same machine: its CPU is not left for the service.
${otherWorkText(spreadOfKnown(steps.map(({ otherWork }) => otherWork)))}`,
    faultsText(faults),
  ].join('\n\n');
}

const stepsOf = (steps: readonly SaturationStep[], wanted: number): SaturationStep[] =>
  steps.filter(({ rate }) => rate === wanted);

function headline({ rung, best, steps }: Saturation): string {
  if (best === null) return `${rung} sustains no rate`;
  const measured = stepsOf(steps, best);
  const p99 = spreadOf(measured.map(({ p99Ms }) => p99Ms));
  const servers = measured.map(({ cpu }) =>
    cpuRoles
      .filter((role) => role !== 'load')
      .reduce((sum, role) => sum + (cpu[role] ?? Number.NaN), 0),
  );
  const cores = (microseconds: readonly (number | null)[]) =>
    coresText(spreadOfKnown(microseconds), best);
  const load = cores(measured.map(({ cpu }) => cpu.load));
  return `${rung} sustains ${best} purchases/s: p99 ${p99.median.toFixed(1)} ms (${rangeText(p99, 1)})
At that rate, all servers together use ${cores(servers)} cores, and k6 uses ${load}.`;
}

const coresText = (microseconds: Spread | null, rate: number): string =>
  microseconds === null ? '?' : ((microseconds.median * rate) / 1e6).toFixed(2);

function row(steps: readonly SaturationStep[], isBest: boolean): string[] {
  const median = (figure: (step: SaturationStep) => number) => spreadOf(steps.map(figure)).median;
  const cpu = (role: 'api' | 'load') => cpuText(spreadOfKnown(steps.map((each) => each.cpu[role])));
  const good = steps.filter(({ isGood }) => isGood).length;
  return [
    String(steps[0]?.rate),
    median(({ accepted, seconds }) => accepted / seconds).toFixed(0),
    median(({ dropped }) => dropped).toFixed(0),
    ...[median(({ p50Ms }) => p50Ms), median(({ p99Ms }) => p99Ms)].map((ms) => ms.toFixed(0)),
    rangeText(spreadOf(steps.map(({ p99Ms }) => p99Ms))),
    ...[cpu('api'), cpu('load')],
    `${good} of ${steps.length}${isBest ? ' ★' : ''}`,
  ];
}
