/**
 * Tokens of an issuer that signs with private keys of its own, and publishes the public ones as a
 * JSON Web Key Set (RFC 7517). The keys are read every five minutes, and when a token names a new
 * one. While the issuer is away, the known keys are used.
 */

import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { isServiceError, type LockstepError, serviceError } from '../errors.ts';

/** Each needs a key pair: a token that is signed with a public key as its secret is refused. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const answerWithinMs = 2_000;
const readEveryMs = 300_000;
/** After a failure, and after a look for an unknown key: strangers may name many of these. */
const restMs = 1_000;

export interface IssuerOptions {
  readonly url: string;
  readonly clockSkewSeconds: number;
  /** Once for each time that the keys could not be read. */
  readonly onUnavailable: (error: LockstepError) => void;
}

/** Nothing is wrong with the token: the keys could not be read. */
const isAboutKeys = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  error.code === 'ERR_JOSE_GENERIC';

/**
 * The payload of a token that the issuer has signed, or null. Its claims are for the caller to
 * check: an end within the clock skew is not seen here.
 * @throws TOKEN_KEYS_UNAVAILABLE
 */
export function issuerVerifier({ url, clockSkewSeconds, onUnavailable }: IssuerOptions) {
  const keys = createRemoteJWKSet(new URL(url), {
    ...{ timeoutDuration: answerWithinMs, cacheMaxAge: Number.POSITIVE_INFINITY },
    cooldownDuration: restMs,
  });
  let restUntilMs = 0;
  /** Until then: the known keys, or the error. */
  let atRest: JWTVerifyGetKey = keys;
  const fail = (cause: unknown): LockstepError => {
    const error = serviceError('TOKEN_KEYS_UNAVAILABLE', url).causedBy(cause);
    if (performance.now() < restUntilMs) return error; // Many tokens waited for one reading.
    const known = keys.jwks();
    atRest = known ? createLocalJWKSet(known) : () => Promise.reject(error);
    restUntilMs = performance.now() + restMs;
    onUnavailable(error);
    return error;
  };
  setInterval(() => void keys.reload().catch(fail), readEveryMs).unref();
  const keyOf: JWTVerifyGetKey = (...token) =>
    performance.now() < restUntilMs ? atRest(...token) : keys(...token);
  const options = { algorithms, clockTolerance: clockSkewSeconds };
  return async (token: string): Promise<JWTPayload | null> => {
    try {
      return (await jwtVerify(token, keyOf, options)).payload;
    } catch (error) {
      if (isServiceError(error, 'TOKEN_KEYS_UNAVAILABLE')) throw error;
      if (isAboutKeys(error)) throw fail(error);
      return null;
    }
  };
}
