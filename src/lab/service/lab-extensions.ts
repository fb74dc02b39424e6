/**
 * What the lab adds to an API instance: its id in every answer, the gate of the races, and its own
 * routes.
 */
import type { MiddlewareHandler } from 'hono';
import type { Extensions } from '../../http/app.ts';
import type { Service } from '../../http/service.ts';
import type { Identified } from '../../http/tokens.ts';
import { labGate } from './lab-gate.ts';
import { labRoutes } from './lab-routes.ts';

export function labExtensions(service: Service): Extensions {
  const { LAB_ID, HISTORY_FOLDER } = service.connections.config;
  // Without a history, as in a benchmark, a request meets nothing that production does not have.
  const gate = HISTORY_FOLDER === '' ? [] : [labGate(service.connections, service.instance)];
  return { middleware: [nameLab(LAB_ID), ...gate], routes: [labRoutes(service)] };
}

/** A lab must not mistake the instances of another lab on this machine for its own. */
function nameLab(labId: string): MiddlewareHandler<Identified> {
  return async (c, next) => {
    c.header('X-Lab-Id', labId);
    await next();
  };
}
