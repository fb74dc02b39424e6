/**
 * The log: one JSON line for each event, on standard output, with the instance's name. Tokens and
 * secrets are removed.
 */
import { type Logger, pino, stdSerializers } from 'pino';

export const openLog = (instance: string, level: string): Logger =>
  pino({
    level,
    base: { instance },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: stdSerializers.errWithCause },
    redact: {
      paths: ['*.authorization', '*.token', '*.secret', '*.TOKEN_SECRET'],
      censor: '[removed]',
    },
  });
