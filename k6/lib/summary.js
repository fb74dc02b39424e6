// The summary that k6 prints at the end, at most 80 columns wide: census, latency, safety,
// availability, and whether the load was there. The same as JSON and as a page in SUMMARY_FOLDER.
import { metricOf, outcomes } from './census.js';
import { latencyJson, latencyLines } from './latency.js';
import { figure, markOf, promiseLine } from './marks.js';
import { measuredLines } from './measured.js';
import { availabilityMetric, readAudits, safetyPromises } from './promises.js';
import { rung } from './settings.js';

/**
 * `plan` is that of the options. `sections` returns the lines that only this script has, from k6's
 * data.
 */
export const summaryOf =
  (script, plan, { promises = safetyPromises(), sections = () => [] } = {}) =>
  (data) => {
    if (!data.setup_data) return { stdout: `\n${script} could not begin: see the error above.\n` };
    const { voucherIds } = data.setup_data;
    const [only] = voucherIds;
    const sold = voucherIds.length === 1 ? `voucher ${only}` : `${voucherIds.length} vouchers`;
    const lines = [
      ...[`${script} on ${rung}, ${sold}`, ''],
      ...censusLines(data),
      ...['', ...latencyLines(data)],
      ...['', ...safetyLines(data, promises)],
      ...availabilityLines(data),
      ...measuredLines(data, plan),
      ...sections(data),
    ];
    const verdict = verdictOf(lines);
    const text = [...lines, '', `RESULT  ${results[verdict]}`].join('\n');
    return { stdout: `\n${text}\n`, ...files(text, { script, verdict, ...recordOf(data) }) };
  };

const results = {
  held: 'held: every promise above is kept',
  violated: 'violated: see ✗ (exit code 99)',
  unknown: 'could not tell: see ? (npm run k6 ends with exit code 2)',
};

/** By the marks that are printed, so that the two cannot differ. */
function verdictOf(lines) {
  const has = (mark) => lines.some((line) => line.startsWith(`  ${mark} `));
  if (has('✗')) return 'violated';
  return has('?') ? 'unknown' : 'held';
}

const recordOf = (data) => ({
  rung,
  voucherIds: data.setup_data.voucherIds,
  droppedIterations: figure(data, 'dropped_iterations'),
  answers: Object.fromEntries(counted(data)),
  recordedOrders: figure(data, 'safety_recorded_orders'),
  latencyMs: latencyJson(data),
});

/** In SUMMARY_FOLDER, which `npm run k6` makes. */
function files(text, record) {
  const folder = __ENV.SUMMARY_FOLDER;
  if (!folder) return {};
  return {
    [`${folder}/summary.json`]: `${JSON.stringify(record, null, 2)}\n`,
    [`${folder}/index.html`]: pageOf(record, text),
  };
}

const pageOf = ({ script, verdict }, text) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>k6: ${script}, ${verdict}</title>
<style>pre { font: 15px/1.5 monospace; overflow-x: auto }</style>
<pre>${text.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</pre>
</html>
`;

export const attempts = (data) =>
  outcomes.reduce((sum, outcome) => sum + figure(data, metricOf(outcome)), 0);

const counted = (data) =>
  outcomes
    .map((outcome) => [outcome, figure(data, metricOf(outcome))])
    .filter(([outcome, count]) => count > 0 || outcome === 'accepted');

function censusLines(data) {
  const dropped = figure(data, 'dropped_iterations');
  const lines = [`CENSUS  ${attempts(data)} attempts, ${dropped} dropped iterations`];
  for (const [outcome, count] of counted(data))
    lines.push(`  ${outcome.padEnd(26)}${String(count).padStart(8)}`);
  if (dropped > 0) lines.push('  Dropped: k6 had no free virtual user left to send them.');
  return lines;
}

/** Every voucher has a verdict. */
export const isAudited = (data) =>
  figure(data, 'audits_decided') === data.setup_data.voucherIds.length;

function safetyLines(data, promises) {
  const { voucherIds } = data.setup_data;
  const lines = ['SAFETY  must hold, however few are sold'];
  for (const promise of promises) lines.push(promiseLine(data, promise, isAudited(data)));
  if (!isAudited(data)) lines.push('  ? no verdict of the audit: is every server running?');
  if (figure(data, 'safety_audits_held') < voucherIds.length) lines.push(...findings(voucherIds));
  return lines;
}

const mostFindings = 5;

/** The first cases that the audit found. Metrics are numbers only, so the audit is read again. */
function findings(voucherIds) {
  const broken = readAudits(voucherIds)
    .filter((audit) => audit !== null)
    .flatMap((audit) => audit.findings.filter(({ verdict }) => verdict !== 'held'));
  return broken
    .slice(0, mostFindings)
    .flatMap(({ check, verdict, first = '' }) => wrap(`    ${check} ${verdict}: ${first}`));
}

function availabilityLines(data) {
  const { voucherIds, expectedOrders } = data.setup_data;
  if (!expectedOrders) return []; // The script has its own section about it.
  const isPromised = data.metrics[availabilityMetric]?.thresholds !== undefined;
  const recorded = figure(data, 'safety_recorded_orders');
  const numbers = `${recorded} orders, ${expectedOrders * voucherIds.length} expected`;
  const [mark, more] = availability(data, isPromised);
  const promised = isPromised ? 'promised' : 'not promised, only reported';
  return [
    '',
    `AVAILABILITY  everybody who could get one got one (${promised})`,
    `  ${mark} ${numbers}; ${more}`,
  ];
}

function availability(data, isPromised) {
  if (!isAudited(data)) return ['?', 'no verdict of the audit'];
  if (figure(data, 'safety_users_with_two_orders') > 0) return ['?', 'some users have several'];
  const missing = figure(data, availabilityMetric);
  const dropped = figure(data, 'dropped_iterations'); // Their users never asked.
  if (missing > 0 && missing <= dropped) return ['?', `${missing} missing, ${dropped} never asked`];
  return [isPromised ? markOf(data, availabilityMetric) : '·', `${missing} missing`];
}

const width = 79;

/** Lines of at most 79 columns, cut between words; the later ones are indented further. */
export function wrap(text) {
  const margin = /^ */.exec(text)[0];
  const lines = [];
  let line = margin.slice(1);
  for (const word of text.trim().split(' ')) {
    if (line.length + 1 + word.length > width && line.trim() !== '') {
      lines.push(line);
      line = `${margin} `;
    }
    line = `${line} ${word}`;
  }
  return [...lines, line];
}
