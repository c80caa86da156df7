# The service as an image: docker build -t toolscout .
# The base is named by its tag; put the digest your registry shows behind it to freeze it.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
# With otel beside them the image can trace: --build-arg EXTRAS=server,redis,otel
ARG EXTRAS=server,redis
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY service ./service
# What serving never imports (fake data for tests, a downloader, test suites) is left out.
# A pip configuration (an index of your own, its certificate) can come as a build secret; it is
# in no layer: docker build --secret id=pip,src=pip.conf .
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m venv /opt/toolscout \
    && /opt/toolscout/bin/python -m pip wheel --no-cache-dir --no-deps --wheel-dir /dist . \
    && /opt/toolscout/bin/python -m pip install --no-cache-dir \
        "toolscout[${EXTRAS}] @ file://$(echo /dist/*.whl)" \
    && /opt/toolscout/bin/python -m pip uninstall --yes faker hf-xet pip setuptools \
    && find /opt/toolscout -depth -type d -name tests -exec rm -rf {} +

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="toolscout" \
      org.opencontainers.image.description="Which few of your hundreds of tools should the model see?" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/toolscout /opt/toolscout
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
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f\"http://127.0.0.1:{os.environ['TOOLSCOUT_PORT']}/readyz\", timeout=2)"]
ENTRYPOINT ["toolscout"]
CMD ["serve"]
