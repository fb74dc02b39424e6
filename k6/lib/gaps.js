// A census of every second of the load. An attempt belongs to the second in which its answer came.
// A gap is a row of seconds in which no attempt was accepted.
import exec from 'k6/execution';
import { metricOf, outcomes } from './census.js';
import { figure } from './marks.js';
import { secondsOf } from './measured.js';
import { wrap } from './summary.js';

const inSecond = (outcome, second) => `${metricOf(outcome)}{second:${second}}`;

/** The tag of an answer that comes now. */
export const currentSecond = () => ({
  second: String(Math.floor((Date.now() - exec.scenario.startTime) / 1000)),
});

/** k6 keeps the count of one second only for a threshold; these are always met. */
export function secondThresholds(seconds) {
  const thresholds = {};
  for (let second = 0; second < seconds; second++)
    for (const outcome of outcomes) thresholds[inSecond(outcome, second)] = ['count>=0'];
  return thresholds;
}

/** The seconds without a sale, and the answers that came in each gap; until k6 was interrupted. */
export function gapLines(data, planned) {
  const seconds = Math.min(planned, Math.ceil(secondsOf(data)));
  const censuses = Array.from({ length: seconds }, (_, second) => censusOf(data, second));
  const gaps = gapsIn(censuses);
  const lengths = gaps.map(({ from, to }) => to - from + 1);
  const without = lengths.reduce((sum, length) => sum + length, 0);
  const longest = Math.max(0, ...lengths);
  const lines = [`  ${without} of ${seconds} seconds without a sale; longest gap ${longest} s`];
  for (const { from, to } of gaps) lines.push(...gapLine(from, to, censuses.slice(from, to + 1)));
  return lines;
}

const censusOf = (data, second) =>
  Object.fromEntries(outcomes.map((name) => [name, figure(data, inSecond(name, second))]));

function gapsIn(censuses) {
  const gaps = [];
  censuses.forEach(({ accepted }, second) => {
    if (accepted > 0) return;
    const open = gaps[gaps.length - 1];
    if (open?.to === second - 1) open.to = second;
    else gaps.push({ from: second, to: second });
  });
  return gaps;
}

function gapLine(from, to, censuses) {
  const total = (outcome) => censuses.reduce((sum, census) => sum + census[outcome], 0);
  const counted = outcomes.map((name) => [name, total(name)]).filter(([, count]) => count > 0);
  const answers = counted.map(([name, count]) => `${count} ${name}`).join(', ');
  const when = from === to ? `second ${from}` : `seconds ${from} to ${to}`;
  return wrap(`    ${when}: ${answers || 'no answer came'}`);
}
