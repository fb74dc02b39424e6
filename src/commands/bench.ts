import type { Place, Reporting } from './place.ts';
export async function bench(_place: Place, _options: Reporting & { seconds: number }): Promise<void> {}
