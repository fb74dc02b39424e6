export const pageText = (address: string): string =>
  `Open in a browser on this machine, once, within 12 hours:\n  ${address}`;
