// Of measured values: the least one that this share of them does not pass.
export const percentile = (values, share) =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1];
