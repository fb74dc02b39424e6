/** Tells a store that does not answer from a fault of the service. */

/** Error codes of node's sockets, of mysql2, and ours. */
const codes = [
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'PROTOCOL_CONNECTION_LOST',
  'MYSQL_SILENT',
] as const;

/** ioredis has no codes for these. */
const messages = [
  'Connection is closed',
  "Stream isn't writeable",
  'Command timed out',
  'Reached the max retries',
  'LOADING',
] as const;

export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = error as Error & { readonly code?: unknown };
  return (
    codes.some((known) => known === code) || messages.some((known) => message.startsWith(known))
  );
}
