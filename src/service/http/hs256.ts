/**
 * JSON Web Tokens of one algorithm, HS256, signed and verified in the event loop. Libraries that
 * know every algorithm take several times as long, and this is part of every purchase. A token that
 * names another algorithm, or demands an extension (`crit`), is refused.
 * Source. RFC 7515 (signature), RFC 7519 (claims).
 */
import { hmacSha256, isSameCode } from './hmac-sha256.ts';

export interface TokenKey {
  readonly sign: (text: string) => string;
}

export const signingKey = (secret: string): TokenKey => ({ sign: hmacSha256(secret) });

/** What is signed, which is the header and the payload; and the signature; each in base64url. */
const compact = /^(([\w-]+)\.([\w-]+))\.([\w-]{43})$/;

/** @returns the payload, or null for a token that this key did not sign. */
export function verifyHs256(
  token: string,
  { sign }: TokenKey,
): Readonly<Record<string, unknown>> | null {
  const [, signed = '', header = '', payload = '', signature = ''] = compact.exec(token) ?? [];
  if (!isHs256(header)) return null;
  return isSameCode(signature, sign(signed)) ? objectOf(payload) : null;
}

export function signHs256(payload: object, { sign }: TokenKey): string {
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

function objectOf(part: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' ? (value as Readonly<Record<string, unknown>> | null) : null;
  } catch {
    return null;
  }
}
