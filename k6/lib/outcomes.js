// The census: every answer is counted under what it means. "Sold out" is an answer, not a failure.
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const names = [
  'accepted',
  'sold_out',
  'already_ordered',
  'not_started',
  'ended',
  'busy',
  'unknown',
  'unexpected',
];
const counters = Object.fromEntries(names.map((name) => [name, new Counter(name)]));

http.setResponseCallback(http.expectedStatuses(200, 201, 202, 403, 409, 410, 503));

/** Counts one answer to a purchase; returns the name it was counted under. */
export function count(response) {
  const name = meaning(response);
  counters[name].add(1);
  return name;
}

function meaning({ status, body }) {
  if (status === 201 || status === 202) return 'accepted';
  if (status === 0) return 'unknown'; // No answer: it may have happened.
  const code = codeOf(body);
  if (code === 'outcome-unknown') return 'unknown';
  if (code === 'lease-lost' || code === 'lock-service-unavailable') return 'busy';
  const name = String(code).replace(/-/g, '_');
  return names.includes(name) ? name : 'unexpected';
}

function codeOf(body) {
  try {
    return JSON.parse(body).code;
  } catch {
    return undefined;
  }
}
