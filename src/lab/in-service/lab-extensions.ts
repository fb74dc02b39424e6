/**
 * What the lab adds to an API instance: its id in every answer, the gate of the races, and its own
 * routes.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { MiddlewareHandler } from 'hono';
import type { Extensions } from '../../service/http/app.ts';
import { problem } from '../../service/http/problems.ts';
import type { Service } from '../../service/http/service.ts';
import { installGate } from '../../service/trace/checkpoints.ts';
import { record } from '../../service/trace/history.ts';
import { type Pause, parsePause, pauseFormat, pauseRequests } from '../play/pauses.ts';
import {
  labRoutes,
  leaseRoutes,
  processFaultRoutes,
  profileRoute,
  sessionRoutes,
} from './lab-routes.ts';
import { isOfWorkers, type LaneConnection, meetAsWorker, meetPlayer } from './meet-player.ts';

export function labExtensions(service: Service): Extensions {
  const { readToken } = service;
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
      processFaultRoutes(readToken),
      profileRoute(readToken),
      leaseRoutes(readToken),
    ],
  };
}

interface LabRequest {
  readonly pauses: readonly Pause[];
  readonly lane?: LaneConnection;
  readonly forgetsRelease: boolean;
}

const labHeaders = ['x-lab-lane', 'x-lab-pauses', 'x-lab-forget'] as const;

/**
 * The service's side of races and pauses. A request with `X-Lab-Lane: <player>:<lane>` reports each
 * checkpoint that it reaches, and waits there until the player resumes it. A request with
 * `X-Lab-Pauses` waits at the checkpoints of these pauses. A request with `X-Lab-Forget: release`
 * never releases its lock. Without a valid token these headers do nothing.
 */
function labGate({ connections, instance, readToken }: Service): MiddlewareHandler {
  const requests = new AsyncLocalStorage<LabRequest>();
  /** A paused request blocks its connection, so it gets its own. */
  const block = () => connections.newLabRedis();
  const pause = pauseRequests(connections.labRedis(), block);
  const asWorker = meetAsWorker(connections, instance);

  installGate(async (checkpoint, order) => {
    if (isOfWorkers(checkpoint)) return asWorker(checkpoint, order);
    if (order) record('checkpoint', order, { checkpoint });
    const request = requests.getStore();
    if (!request) return;
    try {
      if (request.lane) await meetPlayer(request.lane, checkpoint, instance, order);
      if (order && request.pauses.length > 0) await pause(order, checkpoint, request.pauses);
    } catch {
      // The player cannot be reached: the request continues.
    }
    if (request.forgetsRelease && checkpoint === 'before-release')
      throw new Error('the release is forgotten');
  });

  return async (c, next) => {
    const isOfLab = labHeaders.some((header) => c.req.header(header));
    if (!isOfLab || !(await readToken(c.req.header('authorization')))) return next();
    const [player, name] = (c.req.header('x-lab-lane') ?? '').split(':');
    const texts = (c.req.header('x-lab-pauses') ?? '').split(',').filter(Boolean);
    const pauses = texts.map(parsePause).filter((parsed) => parsed !== null);
    if (pauses.length < texts.length) return problem(c, 'invalid-request', pauseFormat);
    const forgetsRelease = c.req.header('x-lab-forget') === 'release';
    if (!player || !name) return requests.run({ pauses, forgetsRelease }, next);
    const redis = block();
    try {
      await requests.run({ pauses, forgetsRelease, lane: { player, name, redis } }, next);
    } finally {
      redis.disconnect();
    }
  };
}
