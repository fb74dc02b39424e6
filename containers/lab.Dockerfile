# The lab with all its servers in one image, as on Debian: for a machine that is none. See
# docs/install.md.
FROM node:26-bookworm-slim
# Mirrors, where these are slow: docker build --build-arg APT_HOST=… --build-arg NPM_CONFIG_REGISTRY=…
ARG APT_HOST=deb.debian.org
ARG NPM_CONFIG_REGISTRY=https://registry.npmjs.org/
RUN sed -i "s/deb\.debian\.org/$APT_HOST/" /etc/apt/sources.list.d/debian.sources
WORKDIR /lockstep
COPY . .
# tini reaps the lab's servers: they outlive the command that started them.
RUN apt-get update && apt-get install -y --no-install-recommends tini \
 && node scripts/setup.mjs \
 && rm -rf /root/.npm /var/lib/apt/lists/*
ENTRYPOINT ["tini", "--", "node", "scripts/lockstep.mjs"]
CMD ["demo"]
