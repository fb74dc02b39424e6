/** Which process a connection on this machine belongs to, from /proc. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The kernel's list changes while it is read, and may then miss a connection. */
const readsMax = 5;

/**
 * The inode of the first end of the connection between these loopback ports; undefined when there
 * is no such connection any more. The list is long on a busy machine, so ask once for each.
 */
export function inodeOf(from: number, to: number): string | undefined {
  const ends = `${loopback(from)} ${loopback(to)}`; // One port may be connected to several others.
  for (let reads = 0; reads < readsMax; reads++) {
    const row = connections().find((each) => each.includes(ends));
    if (row !== undefined) return fieldsOf(row)[9];
  }
  return undefined;
}

export const hasSocket = (pid: number, inode: string): boolean =>
  filesOf(pid).includes(`socket:[${inode}]`);

/** True when the process has a connection to this loopback port now. */
export function isConnectedTo(pid: number, port: number): boolean {
  const fields = connections().map(fieldsOf);
  const own = fields.filter(([, , to]) => to === loopback(port));
  const sockets = own.map((row) => `socket:[${row[9]}]`);
  return filesOf(pid).some((file) => sockets.includes(file));
}

/** The kernel's list: in each row a number, both ends, and in the tenth field the inode. */
const connections = (): string[] => readFileSync('/proc/net/tcp', 'utf8').split('\n');
const fieldsOf = (row: string): string[] => row.trim().split(/\s+/);

const loopback = (port: number): string =>
  `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;

function filesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((name) => targetOf(`${folder}/${name}`));
  } catch {
    return []; // The process has ended.
  }
}

function targetOf(file: string): string[] {
  try {
    return [readlinkSync(file)];
  } catch {
    return []; // Closed meanwhile.
  }
}
