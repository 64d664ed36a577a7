# The images of docker-compose.yml: `saga` runs every process of ours, `connect` is Kafka Connect
# with Debezium. What is installed is what requirements.lock and infra/jars.lock pin, by checksum.

FROM python:3.11-slim AS packages
ARG UV_VERSION=0.13.9
RUN --mount=type=cache,target=/root/.cache \
    pip install "uv==${UV_VERSION}"
WORKDIR /app
COPY pyproject.toml requirements.lock ./
# Only what the services and stand-ins import; the lock says which version, and its checksum.
RUN --mount=type=cache,target=/root/.cache \
    uv venv --quiet /opt/saga && \
    uv pip install --quiet --python /opt/saga/bin/python --link-mode=copy --compile-bytecode \
      --require-hashes --constraint requirements.lock --requirement pyproject.toml --extra fakes

FROM packages AS code
COPY schemas schemas
COPY infra infra
COPY services services
RUN /opt/saga/bin/python -m compileall -q services infra

FROM packages AS plugins
RUN --mount=type=cache,target=/root/.cache \
    uv pip install --quiet --python /opt/saga/bin/python --link-mode=copy \
      --require-hashes --constraint requirements.lock --requirement pyproject.toml --extra jars
COPY infra/__init__.py infra/jars.lock infra/
COPY infra/local infra/local
RUN /opt/saga/bin/python -m infra.local.fetch debezium /plugins

FROM apache/kafka:4.3.1 AS connect
COPY --from=plugins /plugins /opt/kafka/plugins

FROM python:3.11-slim AS saga
# Volumes take over the owner of the folders they are mounted on.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin saga \
    && install --directory --owner=saga --group=saga /conf /confs /data /keys /secrets \
    && for name in postgres broker registry connect jaeger connect-guardian payment-provider \
         mail-sink order payment inventory email analytics projector-agent projector-api orderctl \
         prometheus; \
       do install --directory --owner=saga --group=saga "/confs/$name"; done
COPY --from=code /opt/saga /opt/saga
COPY --from=code /app /app
WORKDIR /app
USER 10001
ENV PATH=/opt/saga/bin:$PATH PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 SAGA_SETTINGS_FILE=/conf/settings.env SAGA_ENV_FILE=/conf/settings.env
ENTRYPOINT ["python", "-m"]
CMD ["services.orderctl", "--help"]
