# Builds the service as it is published, and runs it as an unprivileged user.
FROM node:26-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY server/package.json server/
COPY client/package.json client/
COPY experiments/package.json experiments/
# The image has the right Node.js already, so the install script of the pinned runtime is not needed.
RUN npm ci --ignore-scripts
COPY server server
COPY web web
# The service shows the guides.
COPY docs docs
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:26-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=5001 DATABASE_URL=sqlite:/data/backscroll.db
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/server/package.json server/
COPY --from=build /build/server/bin server/bin
COPY --from=build /build/server/dist server/dist
COPY --from=build /build/server/starter server/starter
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 5001
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/ready`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "server/bin/backscroll.js"]
CMD ["serve"]
