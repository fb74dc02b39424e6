// The summary that k6 prints at the end, at most 80 columns wide: census, latency, safety,
// availability, and whether the load was there. The same as JSON and as a page in SUMMARY_FOLDER.
import exec from 'k6/execution';
import { metricOf, outcomes } from './census.js';
import { latencyJson, latencyLines, requestsOf } from './latency.js';
import { figure, markOf, promiseLine } from './marks.js';
import { iterationsOf, measuredLines, planOfPart, secondsOf } from './measured.js';
import { availabilityMetric, readAudits, safetyPromises } from './promises.js';
import { rung, settings } from './settings.js';

/**
 * `plan` is that of the options. `sections` returns the lines that only this script has, from k6's
 * data.
 */
export const summaryOf =
  (script, plan, { promises = safetyPromises(), sections = () => [] } = {}) =>
  (data) => {
    if (!data.setup_data) return {}; // k6 says why, in its last line.
    const part = exec.test.options.executionSegment;
    return summary(data, { script, whole: plan, promises, sections, part });
  };

function summary(data, { script, whole, promises, sections, part }) {
  const plan = part ? planOfPart(whole, part) : whole;
  const { voucherIds } = data.setup_data;
  const sold =
    voucherIds.length === 1 ? `voucher ${voucherIds[0]}` : `${voucherIds.length} vouchers`;
  const lines = [
    ...[`${script} on ${rung}, ${sold}`, ''],
    ...censusLines(data, plan),
    ...['', ...latencyLines(data)],
    ...['', ...safetyLines(data, promises, part)],
    ...(part ? [] : availabilityLines(data, plan)),
    ...measuredLines(data, plan),
    ...sections(data),
  ];
  const promised = lines.filter((line) => /^ {2}[✓✗?·] /.test(line)).map(readMark);
  const verdict = verdictOf(promised);
  const text = [...lines, '', `RESULT  ${results[verdict]}`].join('\n');
  const record = {
    script,
    verdict,
    ...recordOf(data, plan, part),
    plan: whole,
    promises: promised,
  };
  return { stdout: `\n${text}\n`, ...files(text, record) };
}

const results = {
  held: 'held: every promise above is kept',
  violated: 'violated: see ✗ (exit code 99)',
  unknown: 'could not tell: see ? (npm run k6 ends with exit code 2)',
};

const verdicts = { '✓': 'held', '✗': 'violated', '?': 'unknown', '·': 'only reported' };
const readMark = (line) => ({ verdict: verdicts[line[2]], sentence: line.slice(4) });

/** By the marks that are printed, so that the two cannot differ. */
function verdictOf(promised) {
  const has = (verdict) => promised.some((each) => each.verdict === verdict);
  if (has('violated')) return 'violated';
  return has('unknown') ? 'unknown' : 'held';
}

const recordOf = (data, plan, part) => ({
  ...{ rung, startedAt: data.setup_data.startedAt, ...(part && { part }) },
  load: loadOf(data),
  settings,
  ...{ voucherIds: data.setup_data.voucherIds, expectedOrders: data.setup_data.expectedOrders },
  iterations: iterationsOf(data, plan),
  ...{ perSecond: ratesOf(data), answers: Object.fromEntries(counted(data)) },
  recordedOrders: figure(data, 'safety_recorded_orders'),
  latencyMs: latencyJson(data),
});

/** Null when no iteration was begun. */
function loadOf(data) {
  if (!data.metrics.load_moment) return null;
  const at = (name) => new Date(figure(data, 'load_moment', name)).toISOString();
  return { from: at('min'), to: at('max'), seconds: secondsOf(data) };
}

/** While the load lasted. */
function ratesOf(data) {
  const perSecond = (count) => Math.round((10 * count) / Math.max(0.1, secondsOf(data))) / 10;
  const begun = figure(data, 'iterations_begun');
  return { iterations: perSecond(begun), requests: perSecond(requestsOf(data)) };
}

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

function censusLines(data, plan) {
  const { dropped } = iterationsOf(data, plan);
  const { iterations, requests } = ratesOf(data);
  const lines = [`CENSUS  ${attempts(data)} attempts, ${dropped} dropped iterations`];
  for (const [outcome, count] of counted(data))
    lines.push(`  ${outcome.padEnd(26)}${String(count).padStart(8)}`);
  if (dropped > 0) lines.push('  Dropped: k6 had no free virtual user left to send them.');
  const ofAll = requests > 0 ? `, ${requests} requests/s` : ''; // Those of parts are theirs.
  lines.push(`  In ${secondsOf(data).toFixed(1)} s: ${iterations} iterations/s${ofAll}`);
  return lines;
}

/** Every voucher has a verdict. */
export const isAudited = (data) =>
  figure(data, 'audits_decided') === data.setup_data.voucherIds.length;

function safetyLines(data, promises, part) {
  const { voucherIds } = data.setup_data;
  const lines = ['SAFETY  must hold, however few are sold'];
  for (const promise of promises) lines.push(promiseLine(data, promise, isAudited(data)));
  if (part) return [...lines, `  ? the part ${part}: k6/together.js judges all parts at once`];
  if (!isAudited(data)) lines.push('  ? no verdict of the audit: is every server running?');
  if (figure(data, 'safety_audits_held') < voucherIds.length) lines.push(...findings(voucherIds));
  return lines;
}

const findingsMax = 5;

/** The first cases that the audit found. Metrics are numbers only, so the audit is read again. */
function findings(voucherIds) {
  const broken = readAudits(voucherIds)
    .filter((audit) => audit !== null)
    .flatMap((audit) => audit.findings.filter(({ verdict }) => verdict !== 'held'));
  return broken
    .slice(0, findingsMax)
    .flatMap(({ check, verdict, first = '' }) => wrap(`    ${check} ${verdict}: ${first}`));
}

function availabilityLines(data, plan) {
  const { expectedOrders } = data.setup_data;
  if (!expectedOrders) return []; // The script has its own section about it.
  const isPromised = data.metrics[availabilityMetric]?.thresholds !== undefined;
  const recorded = figure(data, 'safety_recorded_orders');
  const missing = figure(data, availabilityMetric);
  const promised = isPromised ? 'promised' : 'not promised, only reported';
  const [mark, more] = availability(data, plan, isPromised);
  return [
    '',
    `AVAILABILITY  everybody who could get one got one (${promised})`,
    `  ${mark} ${recorded} orders, ${recorded + missing} expected; ${more}`,
  ];
}

/** Who never asked expects nothing; whose request was interrupted may have an order. */
function availability(data, plan, isPromised) {
  if (!isAudited(data)) return ['?', 'no verdict of the audit'];
  if (figure(data, 'safety_users_with_two_orders') > 0) return ['?', 'some users have several'];
  const missing = Math.max(0, figure(data, availabilityMetric));
  const { interrupted } = iterationsOf(data, plan);
  if (missing > 0 && missing <= interrupted) return ['?', `${missing} were interrupted`];
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
