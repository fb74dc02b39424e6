// The settings that every script reads from its environment. This file imports nothing, so that a
// test can load it without k6.

/** Each setting as it was used, for the summary. No secret is among them. */
export const settings = {};
/** What is wrong with the settings, a sentence each. The set-up refuses to begin with them. */
export const problems = [];

/** A text from the environment, or its default. A wrong one is a problem. */
function setting(name, byDefault, isRight, rule) {
  const text = __ENV[name] || String(byDefault);
  if (!isRight(text)) problems.push(`${name} must be ${rule}, not ${text}`);
  settings[name] = isRight(text) ? text : String(byDefault);
  return settings[name];
}

const isWhole = (text) => /^\d{1,9}$/.test(text);

/** A whole number from the environment, or its default. */
export const number = (name, byDefault) =>
  Number(setting(name, byDefault, isWhole, 'a whole number'));

/** A whole number above 0: a rate, or a number of seconds or users. */
export const positive = (name, byDefault) =>
  Number(setting(name, byDefault, (text) => isWhole(text) && Number(text) > 0, 'at least 1'));

const isUrl = (text) => /^https?:\/\/[^\s/]+[^\s]*$/.test(text);

export const baseUrl = setting(
  'BASE_URL',
  'http://127.0.0.1:17080',
  isUrl,
  'like http://127.0.0.1:8080',
).replace(/\/+$/, '');
/** Signs the tokens of users and of the operator. TOKEN and TOKENS_FILE stand for it. */
export const tokenSecret = __ENV.TOKEN_SECRET || 'lockstep-lab-secret-that-signs-tokens';
/** The rung of the ladder that sells the voucher. */
export const rung = setting('RUNG', 'lua-stream', (text) => /^[a-z-]+$/.test(text), 'a rung');
/** A voucher that is on sale already; '' when the script creates its own. */
export const voucherId = setting('VOUCHER_ID', '', (text) => /^\d*$/.test(text), 'its number');
/** The time between check and write of a sale; in the lab only. */
export const workMs = number('WORK_MS', 0);
/** How long a client waits for an answer. After that its outcome is unknown. */
export const answerSeconds = positive('ANSWER_SECONDS', 10);
/** More of the load that was not sent, or has no known answer, and the run could not tell. */
export const missedPercentMax = number('MOST_MISSED_PERCENT', 1);
/** The 99th percentile of the answers must not be above it. 0: any latency is good. */
export const p99Ms = number('P99_MS', 0);
/** A part of the load may be so many times slower than the one before. 0: only reported. */
export const timesSlowerMax = number('MOST_TIMES_SLOWER', 2);
/** 1: a missing order fails the test. A lock may refuse as busy, so only lua-stream promises it. */
export const availabilityIsPromised =
  setting(
    'AVAILABILITY',
    rung === 'lua-stream' ? '1' : '0',
    (text) => /^[01]$/.test(text),
    '0 or 1',
  ) === '1';
/** The sales and the tokens of a run last longer. */
const longestSeconds = 86_400;

/** The seconds of a load. */
export function loadSeconds(byDefault, most = longestSeconds) {
  const seconds = positive('SECONDS', byDefault);
  if (seconds > most) problems.push(`SECONDS must be ${most} at most, not ${seconds}`);
  return Math.min(seconds, most);
}
