/** The headers of every answer. */
export const commonHeaders = (instance: string): Record<string, string> => ({
  'X-Instance': instance,
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
});
