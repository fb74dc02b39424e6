/**
 * What the lab adds to an API instance: its id in every answer, the gate of the races, and its own
 * routes.
 */
import type { Extensions } from '../../service/http/app.ts';
import type { Service } from '../../service/http/service.ts';
import { labGate } from './lab-gate.ts';
import { endLeaseRoute, labRoutes, sessionRoutes } from './lab-routes.ts';
import { processFaultRoutes, profileRoute } from './process-routes.ts';

export function labExtensions(service: Service): Extensions {
  const { LAB_ID, HISTORY_FOLDER } = service.connections.config;
  // Without a history, as in a benchmark, a request meets nothing that production does not have.
  const gate = HISTORY_FOLDER === '' ? [] : [labGate(service)];
  return {
    // A lab must not mistake the instances of another lab on this machine for its own.
    headers: { 'X-Lab-Id': LAB_ID },
    middleware: gate,
    routes: [
      labRoutes(service),
      sessionRoutes(service),
      ...[processFaultRoutes, profileRoute, endLeaseRoute].map((route) => route(service.readToken)),
    ],
  };
}
