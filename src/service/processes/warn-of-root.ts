/** A process that strangers can reach should not be able to change the machine. */
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

const ownMachine = /^(127\.|::1$|localhost$)/;

export function warnOfRoot({ HOST }: Pick<Config, 'HOST'>, log: Logger): void {
  if (process.getuid?.() !== 0 || ownMachine.test(HOST)) return;
  log.warn({ event: 'root-can-be-reached', HOST, cause: asRoot });
}

const asRoot = 'The service runs as root, and other machines reach it: run it as another user.';
