/**
 * Loaded before the processes of the service in the lab. From SIGUSR2 on, a read of the order
 * stream never ends in this process, whatever limits its client has.
 */
import { Redis } from 'ioredis';

let isHanging = false;
process.on('SIGUSR2', () => {
  isHanging = true;
});

const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function sendOrHang(command, stream) {
  const isRead = command.name === 'xreadgroup' && this.options.connectionName === 'consumer';
  return isHanging && isRead ? new Promise(() => {}) : sendCommand.call(this, command, stream);
};
