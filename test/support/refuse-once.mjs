/**
 * Loaded before a process of the service: this command fails the first time that a client with this
 * role sends it, as when its connection has just ended.
 */
import { openSync } from 'node:fs';
import { Redis } from 'ioredis';

const { REFUSE_ROLE, REFUSE_COMMAND, REFUSE_MARK = '' } = process.env;
const send = Redis.prototype.sendCommand;

Redis.prototype.sendCommand = function sendOrRefuse(command, stream) {
  if (this.options.connectionName !== REFUSE_ROLE || command.name !== REFUSE_COMMAND)
    return send.call(this, command, stream);
  try {
    openSync(REFUSE_MARK, 'wx');
  } catch {
    return send.call(this, command, stream); // It was refused before.
  }
  return Promise.reject(new Error('Connection is closed.'));
};
