// Each iteration is counted when it begins, and again when it has ended: k6 itself counts neither
// those that it interrupted nor those that a plan has and nobody began.
import exec from 'k6/execution';
import { Counter, Gauge } from 'k6/metrics';

export const begun = new Counter('iterations_begun');
export const ended = new Counter('iterations_ended');
/** k6 keeps the least and the most of it: the time of the load, without set-up and audit. */
export const moment = new Gauge('load_moment');

/**
 * The function of a scenario of this many iterations; `work` gets the sale and the number of the
 * iteration, from 0. On a busy machine k6 begins some more at the end: they do nothing.
 */
export const iterations = (planned, work) => (sale) => {
  const arrival = exec.scenario.iterationInTest;
  if (arrival >= planned) return;
  begun.add(1);
  moment.add(Date.now());
  work(sale, arrival);
  moment.add(Date.now());
  ended.add(1);
};

/** The one of these parts, each as long as the others, in which the load is now. */
export const partNow = (parts) =>
  parts[Math.min(parts.length - 1, Math.floor(exec.scenario.progress * parts.length))];
