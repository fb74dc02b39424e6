// Sends no load: it judges one that several generators sent to the same voucher, each of them a
//   part of it (--execution-segment). No part can judge the sale, because the orders are of all.
// SAFETY, AVAILABILITY and MEASUREMENT are those of a load from one generator. The latencies are in
//   the summary of each part: percentiles cannot be added.
//
//   PARTS=one/summary.json,two/summary.json npm run k6 -- k6/together.js
// Settings: PARTS (the summaries of all parts), RUNG, AVAILABILITY, MOST_MISSED_PERCENT, and
//   BASE_URL, TOKEN_SECRET, TOKEN as in the parts: docs/load-testing.md.
import { countOutcome } from './lib/census.js';
import { begun, ended, moment } from './lib/iterations.js';
import { judgedOptions } from './lib/options.js';
import { expectOrders, judge, mayBeSold } from './lib/promises.js';
import { refuse } from './lib/sale.js';
import { problems, rung } from './lib/settings.js';
import { summaryOf } from './lib/summary.js';

const parts = (__ENV.PARTS || '').split(',').filter(Boolean).map(read);
if (parts.length === 0) problems.push('PARTS must be the summary.json of each part');
const [{ script, plan, voucherIds, expectedOrders } = { plan: { iterations: 1 } }] = parts;
const isOfOneLoad = (part) =>
  part.rung === rung && part.script === script && String(part.voucherIds) === String(voucherIds);
if (!parts.every(isOfOneLoad))
  problems.push(`the parts must be of one script and voucher, and of RUNG=${rung}`);
const planned = parts.reduce((sum, { iterations }) => sum + (iterations?.planned ?? 0), 0);
if (problems.length === 0 && Math.abs(planned - plan.iterations) > parts.length)
  problems.push(`the parts plan ${planned} of ${plan.iterations} iterations: name each part once`);

function read(path) {
  try {
    return JSON.parse(open(path));
  } catch {
    problems.push(`${path} in PARTS is no summary that can be read`);
    return {};
  }
}

export const options = judgedOptions(
  { together: { executor: 'shared-iterations', vus: 1, iterations: 1 } },
  plan,
);

export function setup() {
  if (problems.length > 0) refuse(problems.join('; '));
  return { startedAt: parts[0].startedAt, voucherIds, expectedOrders };
}

export default function addUp() {
  for (const { answers, iterations, load } of parts) {
    if (load) for (const time of [load.from, load.to]) moment.add(Date.parse(time));
    begun.add(iterations.begun);
    ended.add(iterations.begun - iterations.interrupted);
    mayBeSold(iterations.interrupted);
    for (const [outcome, attempts] of Object.entries(answers)) {
      mayBeSold(attempts);
      countOutcome(outcome, attempts);
    }
  }
  const asked = parts.reduce((sum, { iterations }) => sum + iterations.begun, 0);
  if (expectedOrders) expectOrders(Math.min(expectedOrders, asked));
}

/** What a part has found by itself, such as an unexpected answer. */
const partLines = () => [
  ...['', 'PARTS'],
  ...parts.flatMap(({ part, iterations, promises }) => [
    `  · ${part}: ${iterations.begun} of ${iterations.planned} iterations begun`,
    ...promises
      .filter(({ verdict }) => verdict === 'violated')
      .map(({ sentence }) => `  ✗ ${sentence}`),
  ]),
];
export const teardown = judge;
export const handleSummary = summaryOf(`together.js, ${script},`, plan, { sections: partLines });
