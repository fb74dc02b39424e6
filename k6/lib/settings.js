// What every script reads from its environment.
export const baseUrl = __ENV.BASE_URL || 'http://127.0.0.1:17080';
export const tokenSecret = __ENV.TOKEN_SECRET || 'lockstep-lab-secret-that-signs-tokens';
export const rung = __ENV.RUNG || 'lua-stream';

/** A whole number from the environment, or its default. */
export const number = (name, byDefault) => {
  const value = Number(__ENV[name] || byDefault);
  if (!Number.isInteger(value) || value < 0)
    throw new Error(`${name} must be a whole number, not ${__ENV[name]}`);
  return value;
};
