/** `npm run mutants`: each mutant is built, and one test runs on it, with servers of its own. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/mutants/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    retry: 1, // A server may lose its port to another lab while it starts.
  },
});
