/** The message of a fault to the order workers, in the Redis of the lab. */
export const workersAway = {
  /** STRING: no order worker may start to consume. */
  key: 'lab:workers-away',
  /** They start again after this time if the command crashed. */
  keptSeconds: 120,
} as const;
