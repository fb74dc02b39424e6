/** The user of a request comes from a signed bearer token, never from a body or a query. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Config } from '../config.ts';
import { isId } from '../domain.ts';
import type { LockstepError } from '../errors.ts';
import { whenKnown } from '../purchase/when-known.ts';
import { signHs256, signingKey, verifyHs256 } from './hs256.ts';
import { problem } from './problems.ts';
import { issuerVerifier } from './tokens-of-issuer.ts';

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

/** @param onUnavailable when the keys of the issuer could not be read */
export function tokenReader(
  rules: TokenRules,
  onUnavailable: (error: LockstepError) => void = () => {},
): ReadToken {
  const { TOKEN_JWKS_URL: url } = rules;
  const verify =
    url === '' ? secretVerifier(rules) : issuerVerifier({ url, clockSkewSeconds, onUnavailable });
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
  const keys = [TOKEN_SECRET, TOKEN_SECRET_BEFORE].filter(Boolean).map(signingKey);
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
  return signHs256({ sub, role, exp }, signingKey(secret));
}
