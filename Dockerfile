# The service as an image: docker build -t toolscout:0.1.0 .
# The base is named by its tag; `make pin-base` adds the digest that a registry has for it.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
# What it can do beside serving: shared state and traces; --build-arg EXTRAS=server,mcp answers MCP.
# Packages are those of deploy/locks, by version and hash.
ARG EXTRAS=server,redis,postgres,otel
WORKDIR /src
COPY deploy/locks ./locks
# A pip configuration (an index of your own, its certificate) can come as a build secret; it is
# in no layer: docker build --secret id=pip,src=pip.conf .
# The lock leaves out what serving never imports; test suites go below.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r locks/build.txt \
    && python3 -m venv /opt/toolscout \
    && /opt/toolscout/bin/pip install --no-cache-dir --require-hashes --no-deps -r locks/server.txt \
    && (IFS=,; for extra in $EXTRAS; do \
        test "$extra" = server \
        || /opt/toolscout/bin/pip install --no-cache-dir --require-hashes -r "locks/$extra.txt" \
        || exit; done)
# The compiler of the native part of the ranking, which is in no later stage. Where packages are out
# of reach, Python ranks alone.
# hadolint ignore=DL3008
RUN { apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev; } \
    || echo "no compiler: Python ranks alone"; rm -rf /var/lib/apt/lists/*
COPY pyproject.toml hatch_build.py README.md LICENSE THIRD_PARTY.md ./
COPY service ./service
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/toolscout/bin/pip install --no-cache-dir --no-deps --no-index /dist/*.whl \
    && /opt/toolscout/bin/pip uninstall --yes pip setuptools \
    && find /opt/toolscout -depth -type d -name tests -exec rm -rf {} +

FROM ${BASE} AS service
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="toolscout" \
      org.opencontainers.image.description="Which few of your hundreds of tools should the model see?" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/toolscout /opt/toolscout
COPY deploy/health.py /opt/toolscout/health.py
# Bytecode was compiled in the first stage, and a read-only root takes no more of it.
ENV PATH=/opt/toolscout/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    TOOLSCOUT_HOST=0.0.0.0 \
    TOOLSCOUT_PORT=8080
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "/opt/toolscout/health.py"]
ENTRYPOINT ["toolscout"]
CMD ["serve"]

# What the image consists of: docker build --target sbom --output dist .
FROM service AS billed
USER 0:0
COPY deploy/locks/trust.txt deploy/sbom.py /src/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m venv /opt/trust \
    && /opt/trust/bin/pip install --no-cache-dir --require-hashes -r /src/trust.txt \
    && /opt/trust/bin/python /src/sbom.py /opt/toolscout/bin/python > /sbom.cdx.json
USER 65532:65532

FROM scratch AS sbom
COPY --from=billed /sbom.cdx.json /

FROM service
