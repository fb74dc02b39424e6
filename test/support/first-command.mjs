/**
 * Loaded before a process of the service. `hangs`: the first client with this role that sends one
 * of these commands never gets an answer to any of them, whatever limits it has. `refuses`: the
 * first of these commands fails, as when its connection has just ended. All other commands are
 * sent, also those of other clients in the same process.
 */
import { openSync } from 'node:fs';
import { Redis } from 'ioredis';

const { FIRST_ROLE, FIRST_COMMANDS = '', FIRST_DOES, FIRST_MARK = '' } = process.env;
const commands = FIRST_COMMANDS.split(',');
const send = Redis.prototype.sendCommand;
let first;

/** The process that creates the file is the first. */
function isFirst() {
  try {
    openSync(FIRST_MARK, 'wx');
    return true;
  } catch {
    return false;
  }
}

Redis.prototype.sendCommand = function sendUnlessFirst(command, stream) {
  const isMeant = this.options.connectionName === FIRST_ROLE && commands.includes(command.name);
  if (isMeant && FIRST_DOES === 'refuses' && isFirst())
    return Promise.reject(new Error('Connection is closed.'));
  if (isMeant && FIRST_DOES === 'hangs') {
    first ??= isFirst() ? this : 'a client of another process';
    if (first === this) return new Promise(() => {});
  }
  return send.call(this, command, stream);
};
