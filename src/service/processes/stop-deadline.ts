/** A process that is told to stop ends, also when a store that it waits for never answers. */
import type { Logger } from 'pino';

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
