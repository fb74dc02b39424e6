import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'real servers',
          include: ['test/{contracts,integration,drills}/**/*.test.ts'],
          globalSetup: './test/support/lab.ts',
          fileParallelism: false, // Two cores, and one lab.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
