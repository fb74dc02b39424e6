/**
 * Tokens of an issuer that signs with private keys of its own, and publishes the public ones as a
 * JSON Web Key Set (RFC 7517). A new key of the issuer is read when a token names it.
 */
import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { TokenKeysUnavailable } from '../errors.ts';

/** Each needs a key pair: a token that is signed with a public key as its secret is refused. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const answerWithinMs = 2_000;
/** So long a key is used that the issuer has withdrawn, and so long the issuer may be away. */
const keptMs = 3_600_000;

/** Nothing is wrong with the token: the keys could not be read. */
const isAboutKeys = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  error.code === 'ERR_JOSE_GENERIC';

/**
 * The payload of a token that the issuer has signed, or null. Its times are not looked at.
 * @throws TokenKeysUnavailable
 */
export function issuerVerifier(url: string): (token: string) => Promise<JWTPayload | null> {
  const keys = createRemoteJWKSet(new URL(url), {
    ...{ timeoutDuration: answerWithinMs, cacheMaxAge: keptMs },
  });
  return async (token) => {
    try {
      return (await jwtVerify(token, keys, { algorithms })).payload;
    } catch (error) {
      if (isAboutKeys(error)) throw new TokenKeysUnavailable(url, error);
      return null;
    }
  };
}
