/** The user of a request comes from a signed bearer token, never from a body or a query. */
import type { Context, MiddlewareHandler } from 'hono';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import type { Config } from '../config.ts';
import { isId } from '../domain.ts';
import { isServiceError, type LockstepError, serviceError } from '../errors.ts';
import { whenKnown } from '../purchase/when-known.ts';
import { hmacSha256, isSameCode } from './hmac-sha256.ts';
import { problem } from './problems.ts';

const roles = ['user', 'operator'] as const;
type Role = (typeof roles)[number];

export interface Claims {
  /** The user's id. */
  readonly sub: string;
  readonly role: Role;
  /** In seconds. */
  readonly exp: number;
}

export type WithClaims = { Variables: { claims: Claims } };

/** Null without a valid token. Not a promise where the secret is known. */
export type ReadToken = (
  authorization: string | undefined,
) => Claims | null | Promise<Claims | null>;

/** The claims; or the answer 401 without a valid token, and 403 with the wrong role. */
export function identify(role: Role, read: ReadToken) {
  const claimsIn = (c: Context, claims: Claims | null) => {
    if (!claims) return problem(c, 'unauthenticated');
    if (claims.role === role) return claims;
    return problem(c, 'forbidden', `This request needs the role "${role}".`);
  };
  return (c: Context) =>
    whenKnown(read(c.req.header('authorization')), (claims) => claimsIn(c, claims));
}

export function requireRole(role: Role, read: ReadToken): MiddlewareHandler<WithClaims> {
  const claimsOf = identify(role, read);
  return async (c, next) => {
    const claims = await claimsOf(c);
    if (claims instanceof Response) return claims;
    c.set('claims', claims);
    return next();
  };
}

/** What a token must have; an empty text, and 0, ask for nothing. */
export type TokenRules = Pick<
  Config,
  | 'TOKEN_SECRET'
  | 'TOKEN_SECRET_BEFORE'
  | 'TOKEN_JWKS_URL'
  | 'TOKEN_ISSUER'
  | 'TOKEN_AUDIENCE'
  | 'TOKEN_LONGEST_SECONDS'
>;

/** @param onUnavailable once for each time that the keys of the issuer could not be read */
export function tokenReader(
  rules: TokenRules,
  onUnavailable: (error: LockstepError) => void = () => {},
): ReadToken {
  const { TOKEN_JWKS_URL: url } = rules;
  const verify = url === '' ? secretVerifier(rules) : issuerVerifier(url, onUnavailable);
  const read = (payload: Payload | null) =>
    payload && isFor(payload, rules) ? claimsIn(payload, rules) : null;
  return (authorization = '') => {
    const token = /^Bearer ([\w.-]+)$/i.exec(authorization)?.[1];
    return token === undefined
      ? null
      : whenKnown<Payload | null, Claims | null>(verify(token), read);
  };
}

type Payload = Readonly<Record<string, unknown>>;

function secretVerifier({ TOKEN_SECRET, TOKEN_SECRET_BEFORE }: TokenRules) {
  const keys = [TOKEN_SECRET, TOKEN_SECRET_BEFORE].filter(Boolean).map(hmacSha256);
  return (token: string): Payload | null => {
    for (const key of keys) {
      const payload = verifyHs256(token, key);
      if (payload) return payload;
    }
    return null;
  };
}

/** RFC 7519: `aud` is a text or a list of them. */
function isFor({ iss, aud }: Payload, { TOKEN_ISSUER, TOKEN_AUDIENCE }: TokenRules): boolean {
  const isAudience = aud === TOKEN_AUDIENCE || (Array.isArray(aud) && aud.includes(TOKEN_AUDIENCE));
  return (TOKEN_ISSUER === '' || iss === TOKEN_ISSUER) && (TOKEN_AUDIENCE === '' || isAudience);
}

function claimsIn(payload: Payload, { TOKEN_LONGEST_SECONDS: longest }: TokenRules): Claims | null {
  const { sub, role = 'user', exp, nbf = 0 } = payload;
  if (typeof sub !== 'string' || !isId(sub) || !isRole(role)) return null;
  if (!isTime(exp) || !isTime(nbf)) return null;
  const nowSeconds = Date.now() / 1_000;
  if (longest > 0 && exp > nowSeconds + longest) return null;
  return nbf <= nowSeconds + clockSkewSeconds && nowSeconds < exp ? { sub, role, exp } : null;
}

/** The clock of an issuer may be ahead of ours: its tokens are valid before they begin. */
const clockSkewSeconds = 30;

/** JSON has numbers beyond every time: 1e999 is read as Infinity, and would never end. */
const isTime = (value: unknown): value is number => Number.isFinite(value);
const isRole = (value: unknown): value is Role => roles.some((role) => role === value);

/** Signs the tokens of the lab. A deployment uses its own token issuer, with the same secret. */
export async function signToken(
  secret: string,
  sub: string,
  role: Role,
  ttlSeconds = 3_600,
): Promise<string> {
  const exp = Math.floor(Date.now() / 1_000) + ttlSeconds;
  return signHs256({ sub, role, exp }, hmacSha256(secret));
}

type Sign = ReturnType<typeof hmacSha256>;

/** What is signed, which is the header and the payload; and the signature; each in base64url. */
const compact = /^(([\w-]+)\.([\w-]+))\.([\w-]{43})$/;

/**
 * Verified in the event loop: libraries that know every algorithm take several times as long, and
 * this is part of every purchase. A token that names another algorithm than HS256, or demands an
 * extension (`crit`), is refused.
 * @returns the payload, or null for a token that was not signed with this secret.
 * Source. RFC 7515 (signature), RFC 7519 (claims).
 */
function verifyHs256(token: string, sign: Sign): Payload | null {
  const [, signed = '', header = '', payload = '', signature = ''] = compact.exec(token) ?? [];
  if (!isHs256(header)) return null;
  return isSameCode(signature, sign(signed)) ? objectOf(payload) : null;
}

function signHs256(payload: object, sign: Sign): string {
  const text = `${commonHeader}.${encode(payload)}`;
  return `${text}.${sign(text)}`;
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Nearly every token begins with it, so that it is not read again and again. */
const commonHeader = encode({ alg: 'HS256', typ: 'JWT' });

function isHs256(header: string): boolean {
  if (header === commonHeader) return true;
  const fields = objectOf(header);
  return fields?.['alg'] === 'HS256' && fields['crit'] === undefined;
}

function objectOf(part: string): Payload | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' ? (value as Payload | null) : null;
  } catch {
    return null;
  }
}

/** Each needs a key pair: a token that is signed with a public key as its secret is refused. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const answerWithinMs = 2_000;
const readEveryMs = 300_000;
/** After a failure, and after a look for an unknown key: strangers may name many of these. */
const restMs = 1_000;

/** Nothing is wrong with the token: the keys could not be read. */
const isAboutKeys = (error: unknown): boolean =>
  !(error instanceof errors.JOSEError) ||
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  error.code === 'ERR_JOSE_GENERIC';

/**
 * Of an issuer that signs with private keys of its own, and publishes the public ones as a JSON Web
 * Key Set (RFC 7517). The keys are read every five minutes, and when a token names a new one. While
 * the issuer is away, the known keys are used. An end within the clock skew is not seen here.
 * @throws TOKEN_KEYS_UNAVAILABLE
 */
function issuerVerifier(url: string, onUnavailable: (error: LockstepError) => void) {
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: answerWithinMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
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
