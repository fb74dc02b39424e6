/**
 * The places where the course notes put a breakpoint, by name. Nothing in production: without a gate, passing one is an
 * `await` of undefined. In the lab a gate may hold whoever passes, so that every famous race can be played step by step.
 */
export type CheckpointName =
  | 'granted'
  | 'after-check'
  | 'stock-taken'
  | 'before-commit'
  | 'before-release'
  | 'owner-checked'
  | 'before-subscribe';

export type Gate = (name: CheckpointName) => Promise<void>;

let gate: Gate | undefined;

export function checkpoint(name: CheckpointName): Promise<void> | undefined {
  return gate?.(name);
}

/** For the lab only. */
export function installGate(installed: Gate): void {
  gate = installed;
}
