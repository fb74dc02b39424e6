// The one k6 version of set-up, of `npm run k6` and of its container image.
export const k6Version = 'v2.2.0';
