# syntax=docker/dockerfile:1

# For backups of a PostgreSQL store BASE is an image that has the server's tools, such as postgres:17-alpine.
ARG BASE=scratch

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
ARG TARGETARCH TARGETVARIANT
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOARCH=$TARGETARCH GOARM=${TARGETVARIANT#v} go build -trimpath -tags goolm -ldflags "-s -w -X main.version=$VERSION" -o /out/everthread ./cmd/everthread
# What the binary needs from a system: certificates for outgoing connections, time
# zones to know when a day ends, a non-root user and a writable folder. Any other user may
# write it, too: engines put a user that /etc/passwd does not name into group 0.
RUN mkdir -p /out/root/etc/ssl/certs /out/root/usr/share /out/root/data /out/root/tmp \
    && cp /etc/ssl/certs/ca-certificates.crt /out/root/etc/ssl/certs/ \
    && (test -d /usr/share/zoneinfo || (apt-get update && apt-get install -y --no-install-recommends tzdata)) \
    && cp -r /usr/share/zoneinfo /out/root/usr/share/ \
    && echo 'everthread:x:65532:65532::/data:/sbin/nologin' > /out/root/etc/passwd \
    && echo 'everthread:x:65532:' > /out/root/etc/group \
    && chmod 1777 /out/root/tmp && chmod 770 /out/root/data

FROM ${BASE}
COPY --from=build /out/root/etc /etc
COPY --from=build /out/root/usr /usr
COPY --from=build --chmod=1777 /out/root/tmp /tmp
COPY --from=build --chown=65532:0 /out/root/data /data
COPY --from=build /out/everthread /usr/local/bin/everthread
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
# A container is reached from outside, so the gateway listens on all addresses.
ENV EVERTHREAD_DATA_DIR=/data EVERTHREAD_HTTP_LISTEN=0.0.0.0:8080
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/everthread", "doctor", "--health"]
ENTRYPOINT ["/usr/local/bin/everthread"]
CMD ["serve"]
