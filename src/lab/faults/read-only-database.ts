/**
 * The database takes no writes: `SET GLOBAL read_only`, as after a failover to a replica, or by an
 * operator whose disk is nearly full. It answers every read.
 */
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import type { Lab } from '../environment/lab.ts';
import type { Fault } from './fault.ts';

export const readOnlyDatabase = (name: string): Fault => ({
  name: `make ${name} read-only`,
  async inject(lab) {
    await setReadOnly(lab, 'ON');
    return () => setReadOnly(lab, 'OFF');
  },
});

/** As root, by the socket: the service's own account may not. */
async function setReadOnly(lab: Lab, to: 'ON' | 'OFF'): Promise<void> {
  const socketPath = join(lab.dataFolder(lab.database), 'server.sock');
  const connection = await mysql.createConnection({ socketPath, user: 'root' });
  try {
    await connection.query(`SET GLOBAL read_only = ${to}`);
  } finally {
    await connection.end();
  }
}
