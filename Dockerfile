# The service. The first stage compiles; the image has no compiler, no development packages and no
# cache of npm.
FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY src ./src
RUN npx tsc

FROM node:26-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund --cache /tmp/npm && rm -rf /tmp/npm /root/.npm
COPY containers/healthy.sh ./
COPY --from=build /app/dist ./dist
COPY lua ./lua
USER node
EXPOSE 8080
CMD ["node", "dist/service/bin/service.js"]
