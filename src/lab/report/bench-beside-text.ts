/** The figures of `bench --beside`, for an 80-column terminal. */
import type { BesideBenchmark, SellerFigures } from '../benchmarks/beside-benchmark.ts';
import { cpuRoles } from '../benchmarks/cpu-by-role.ts';
import type { Spread } from '../benchmarks/spread.ts';
import { cpuText, faultsText, rangeText, roundsText, targetsText } from './bench-text.ts';
import { plainTable } from './tables.ts';

export function besideText(result: BesideBenchmark): string {
  const { sellers, targets, faults } = result;
  const uncounted = sellers.filter(({ recording }) => !recording).map(({ name }) => name);
  return [
    speedTable(sellers),
    recordingTable(sellers),
    `during, after  orders that came into the database in each second of the load and
               after it, until all were there
of both        accepted orders in the database, in each second of both`,
    'CPU microseconds per request, by process (kernel accounting)',
    cpuTable(sellers),
    ratiosText(result),
    targetsText(targets),
    roundsText(result),
    uncounted.length > 0 && faults.length === 0
      ? `Every answer was the expected one.\n${uncountedText(uncounted)}`
      : faultsText(faults),
  ].join('\n\n');
}

const uncountedText = (names: readonly string[]): string =>
  `NOBODY COUNTED THE ORDERS of ${names.join(' and ')}: what it says is believed.`;

function speedTable(sellers: readonly SellerFigures[]): string {
  const rows = sellers.map(({ name, acceptedPerSecond, p50Ms, p99Ms }) => [
    ...[name, acceptedPerSecond.median.toFixed(0), rangeText(acceptedPerSecond)],
    ...[p50Ms.median.toFixed(1), p99Ms.median.toFixed(1), rangeText(p99Ms)],
  ]);
  const head = ['service', 'accepted/s', 'least..most', 'p50 ms', 'p99 ms', 'least..most'];
  return plainTable(head, rows);
}

function recordingTable(sellers: readonly SellerFigures[]): string {
  const rows = sellers.map(({ name, recording }) => {
    if (!recording) return [name, '?', '?', '?', '?'];
    const { duringPerSecond, afterPerSecond, drainSeconds, perSecond } = recording;
    const rates = [duringPerSecond, afterPerSecond].map(({ median }) => median.toFixed(0));
    return [name, ...rates, drainSeconds.median.toFixed(1), perSecond.median.toFixed(0)];
  });
  return plainTable(['recorded/s', 'during', 'after', 'all after s', 'of both'], rows);
}

/** A service names its processes; what it does not name has no figure. */
function cpuTable(sellers: readonly SellerFigures[]): string {
  const roles = ['load', ...cpuRoles.filter((role) => role !== 'load')] as const;
  const rows = sellers.map(({ name, cpu }) => {
    const named = roles.filter((role) => cpu[role]?.median !== 0);
    const servers = named.filter((role) => role !== 'load');
    const sum = servers.reduce((total, role) => total + (cpu[role]?.median ?? Number.NaN), 0);
    const cells = roles.map((role) => (named.includes(role) ? cpuText(cpu[role], 1) : '–'));
    return [name, ...cells, servers.length > 0 && !Number.isNaN(sum) ? sum.toFixed(0) : '?'];
  });
  return plainTable(['service', ...roles, 'sum'], rows);
}

function ratiosText({ sellers, ratios }: BesideBenchmark): string {
  const [ours, theirs] = sellers.map(({ name }) => name);
  const rows = (
    [
      ['accepted/s', ratios.accepted],
      ['accepted and recorded/s', ratios.recorded],
      ['p99', ratios.p99],
    ] as const
  ).map(([name, ratio]) => [name, ...ratioCells(ratio)]);
  return plainTable([`${ours} ÷ ${theirs}`, 'median', 'least..most'], rows);
}

const ratioCells = (ratio: Spread | null): string[] =>
  ratio === null ? ['?', ''] : [ratio.median.toFixed(2), rangeText(ratio, 2)];
