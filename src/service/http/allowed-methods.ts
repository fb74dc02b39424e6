/** The methods that a path has, for the `Allow` of an answer 405. */
import type { App } from './openapi.ts';

/** Empty when the application has no such path. */
export function allowedMethods(app: App, path: string): string[] {
  const methods = app.routes
    .filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path))
    .map(({ method }) => method);
  if (methods.includes('GET')) methods.push('HEAD');
  return [...new Set(methods)].sort();
}

/** `/orders/:id` matches `/orders/7`. */
const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:[^/]+/g, '[^/]+')}$`);
