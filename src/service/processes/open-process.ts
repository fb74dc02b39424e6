/** How a process of the service begins, and how it stops. */
import { type Logger, pino, stdSerializers } from 'pino';
import { type Config, readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';

/**
 * What each child of the service's primary has.
 * @param name of one that was started by hand, without an INSTANCE.
 */
export function openChild(name: string) {
  const config = readConfig();
  const instance = config.INSTANCE || `${config.NAME}-${name}`;
  const log = openLog(instance, config.LOG_LEVEL);
  tellPrimary();
  const stop = stopSignal(log);
  return { config, instance, log, stop, connections: new Connections(config, log) };
}

/** One JSON line for each event, on standard output. Tokens and secrets are removed. */
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

const tellEveryMs = 500;

/**
 * A child that stands still keeps its connections, so its buyers wait, and it cannot look at
 * itself: so it says that it runs. A process that is nobody's child tells nobody.
 */
function tellPrimary(): void {
  const tell = () => process.send?.('runs', undefined, undefined, () => {});
  setInterval(tell, tellEveryMs).unref();
  tell();
}

/**
 * SIGTERM and SIGINT as an AbortSignal. An unhandled rejection also aborts it, and sets exit code
 * 1. An uncaught exception ends the process at once, with exit code 1.
 */
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

/** After the drain, to close what is open. Shorter than the primary waits before it kills. */
const closeWithinMs = 4_000;

/**
 * Ends the process once the stop is overdue, and logs what was still open. The exit code is 1, or
 * that of a process that ends because it is stuck.
 * @param drainMs how long the requests in flight, or the children, may take.
 */
export function endOnceOverdue(stop: AbortSignal, drainMs: number, log: Logger): void {
  const withinMs = drainMs + closeWithinMs;
  const end = () => {
    log.error({ event: 'stop-overdue', withinMs, open: process.getActiveResourcesInfo() });
    process.exit(process.exitCode ?? 1);
  };
  stop.addEventListener('abort', () => setTimeout(end, withinMs).unref(), { once: true });
}

const ownMachine = /^(127\.|::1$|localhost$)/;

/** A process that strangers can reach should not be able to change the machine. */
export function warnOfRoot({ HOST }: Pick<Config, 'HOST'>, log: Logger): void {
  if (process.getuid?.() !== 0 || ownMachine.test(HOST)) return;
  log.warn({ event: 'root-can-be-reached', HOST, cause: asRoot });
}

const asRoot = 'The service runs as root, and other machines reach it: run it as another user.';
