/** Tells a store that is away from a fault of the service. */
import { ReplyError } from 'ioredis';
import { givesNoSession, takesNoWrites } from './mysql.ts';

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

/**
 * The first word of an answer with which Redis refuses every write for now: its role, its memory or
 * its disk; a script of another client that does not end; in a cluster, also because this node does
 * not have the keys, or not all of them. A script is refused so before its first write only.
 */
const refusals = [
  ...['LOADING', 'READONLY', 'NOREPLICAS', 'MASTERDOWN', 'OOM', 'MISCONF'],
  ...['BUSY', 'CLUSTERDOWN', 'MOVED', 'ASK', 'TRYAGAIN'],
].map((word) => `${word} `);

/** No wait mends it. Inside a script, a command may be forbidden after others have written. */
const forbidden = /^(NOAUTH|NOPERM(?! ACL failure in script)) /;

/** ioredis has no codes for these, and mysql2 none for the last two. */
const messages = [
  'Connection is closed',
  "Stream isn't writeable",
  "Cluster isn't ready",
  'Failed to refresh slots cache',
  'Command timed out',
  'Reached the max retries',
  'Command aborted due to connection close',
  ...refusals,
  "Can't add new command when connection is in closed state",
  'Queue limit reached.', // MYSQL_QUEUE_LIMIT: nothing was sent.
] as const;

/** Also a store that takes no writes for now. */
export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (takesNoWrites(error) || givesNoSession(error)) return true;
  const { code, message } = error as Error & { readonly code?: unknown };
  return (
    codes.some((known) => known === code) || messages.some((known) => message.startsWith(known))
  );
}

/** The connection ended while MySQL worked on a statement, or MySQL was silent. */
const answerLost = ['ECONNRESET', 'EPIPE', 'MYSQL_SILENT', 'PROTOCOL_CONNECTION_LOST'];

export const isAnswerLost = (error: unknown): boolean =>
  answerLost.includes(String((error as { code?: unknown } | null)?.code));

/**
 * Redis answered that it takes no writes for now, or none of this user, or has dropped a
 * transaction for that reason: the script, or the transaction, has written nothing.
 */
export function refusesWrites(error: unknown): boolean {
  if (!(error instanceof ReplyError)) return false;
  // As ioredis says it: with the errors of the commands in it.
  const { message, previousErrors = [] } = error as Error & { previousErrors?: Error[] };
  if (message.startsWith('EXECABORT ')) return previousErrors.some(refusesWrites);
  return forbidden.test(message) || refusals.some((word) => message.startsWith(word));
}
