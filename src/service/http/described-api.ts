/** The description of a deployment's API, without a service: no store is opened for it. */
import { pino } from 'pino';
import { readConfig } from '../config.ts';
import { Connections } from '../connections/connections.ts';
import { apiDescription, createApp } from './app.ts';
import type { Service } from './service.ts';

const config = {
  MYSQL_URL: 'mysql://nobody@localhost/none',
  REDIS_URL: 'redis://localhost',
  TOKEN_SECRET: 'no token is signed with this one',
};

const noStore = (): never => {
  throw new Error('this service only describes its API');
};

export function describeApi(): ReturnType<typeof apiDescription> {
  const log = pino({ level: 'silent' });
  const service: Service = {
    connections: new Connections(readConfig(config), log),
    log,
    instance: 'none',
    vouchers: { create: noStore, find: noStore, look: noStore, forget: noStore, list: noStore },
    allowedRungs: new Set<string>(),
    rungOf: noStore,
    auditOf: noStore,
    stockLeft: noStore,
    waitingRoom: { place: noStore, isPass: noStore, isBuyer: noStore, leave: noStore },
    orderIds: { next: noStore, problem: () => null, close: () => {} },
    limits: { tries: 0, msUntilTry: noStore, unlessFull: noStore },
    readToken: noStore,
    isOpen: () => false,
  };
  return apiDescription(createApp(service), false);
}
