/**
 * SIGTERM and SIGINT as an AbortSignal. An unhandled rejection also aborts it, and sets exit code
 * 1. An uncaught exception ends the process at once, with exit code 1.
 */
import type { Logger } from 'pino';

export function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const)
    process.once(name, () => {
      log.info({ event: 'stopping', because: name });
      stop.abort();
    });
  process.once('unhandledRejection', (error) => {
    log.fatal({ event: 'unhandled-rejection', error });
    process.exitCode = 1;
    stop.abort();
  });
  process.once('uncaughtException', (error) => {
    log.fatal({ event: 'uncaught-exception', error });
    process.exit(1);
  });
  return stop.signal;
}
