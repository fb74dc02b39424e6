// The settings that every script reads from its environment.

/** A whole number from the environment, or its default. */
export function number(name, byDefault) {
  const value = Number(__ENV[name] || byDefault);
  if (!Number.isInteger(value) || value < 0)
    throw new Error(`${name} must be a whole number, not ${__ENV[name]}`);
  return value;
}

/** A whole number above 0: a rate, or a number of seconds or users. */
export function positive(name, byDefault) {
  const value = number(name, byDefault);
  if (value === 0) throw new Error(`${name} must be at least 1`);
  return value;
}

function flag(name, byDefault) {
  const value = __ENV[name] || byDefault;
  if (value !== '0' && value !== '1') throw new Error(`${name} must be 0 or 1, not ${value}`);
  return value === '1';
}

export const baseUrl = __ENV.BASE_URL || 'http://127.0.0.1:17080';
/** Signs the tokens of users and of the operator. TOKEN and TOKENS_FILE stand for it. */
export const tokenSecret = __ENV.TOKEN_SECRET || 'lockstep-lab-secret-that-signs-tokens';
/** The rung of the ladder that sells the voucher. */
export const rung = __ENV.RUNG || 'lua-stream';
/** The time between check and write of a sale; in the lab only. */
export const workMs = number('WORK_MS', 0);
/** How long a client waits for an answer. After that its outcome is unknown. */
export const answerSeconds = positive('ANSWER_SECONDS', 10);
/** More of the load that was not sent, or has no known answer, and the run could not tell. */
export const mostMissedPercent = number('MOST_MISSED_PERCENT', 1);
/** The 99th percentile of the answers must not be above it. 0: any latency is good. */
export const p99Ms = number('P99_MS', 0);
/** 1: a missing order fails the test. A lock may refuse as busy, so only lua-stream promises it. */
export const availabilityIsPromised = flag('AVAILABILITY', rung === 'lua-stream' ? '1' : '0');
