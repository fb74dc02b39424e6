/**
 * Loaded before a process of the service. The first client with this role that sends one of these
 * commands never gets an answer to them, whatever limits it has. Other clients do, also those of
 * the same process.
 */
import { openSync } from 'node:fs';
import { Redis } from 'ioredis';

const { HANG_ROLE, HANG_COMMANDS = '', HANG_MARK = '' } = process.env;
const commands = HANG_COMMANDS.split(',');
const send = Redis.prototype.sendCommand;
let hanging;

/** The process that creates the file is the first. */
function isFirst() {
  try {
    openSync(HANG_MARK, 'wx');
    return true;
  } catch {
    return false;
  }
}

Redis.prototype.sendCommand = function sendOrHang(command, stream) {
  if (this.options.connectionName !== HANG_ROLE || !commands.includes(command.name))
    return send.call(this, command, stream);
  hanging ??= isFirst() ? this : 'a client of another process';
  return hanging === this ? new Promise(() => {}) : send.call(this, command, stream);
};
