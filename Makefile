# Needs only make and Python 3.11 or newer. Everything else is installed into .venv or downloaded
# into ~/.cache/order-saga (SAGA_CACHE_DIR moves it).
PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_VERSION := 0.13.9
BIN := .venv/bin
INSTALLED := .venv/.installed
LOCAL := $(BIN)/python -m infra.local

# The same system in containers; only compose-demo needs Python.
DOCKER_COMPOSE ?= docker compose
SAGA_PORTS ?= $(if $(PORT_BASE),$(PORT_BASE:%00=%),218)
export SAGA_PORTS
COMPOSE_ENV := .state-compose/orderctl.env

.PHONY: help up down purge status logs demo chaos test test-long lint lock \
  compose-up compose-demo compose-down compose-purge test-containers

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(INSTALLED) ## Start everything and wait until it is ready (PORT_BASE=22800 moves its ports)
	@$(LOCAL) up

down: $(INSTALLED) ## Stop everything, keep the data
	@$(LOCAL) down

purge: $(INSTALLED) ## Stop everything, delete the data, keep the downloads
	@$(LOCAL) purge

status: $(INSTALLED) ## List the processes: ready or why not, ports, memory
	@$(LOCAL) status || true

logs: $(INSTALLED) ## Follow the logs (NAME=order for one process)
	@$(LOCAL) logs $(NAME)

demo: up ## Start everything, place about 30 orders of every ending, and check them
	@$(BIN)/orderctl demo

chaos: $(INSTALLED) ## Kill anything while orders go on, then check them all (SEED=1 MINUTES=3 RATE=5)
	@$(BIN)/python -m tests.chaos --seed $(or $(SEED),1) --minutes $(or $(MINUTES),3) --rate $(or $(RATE),5)

compose-up: ## The same in containers: build, start, wait until all is ready (SAGA_PORTS=228 moves ports)
	@$(DOCKER_COMPOSE) up --detach --wait --build
	@mkdir -p $(dir $(COMPOSE_ENV)) && umask 077 && $(DOCKER_COMPOSE) run --rm -T --no-deps \
	  --entrypoint cat orderctl /conf/outside.env > $(COMPOSE_ENV)
	@echo "Order API  http://127.0.0.1:$(SAGA_PORTS)00/docs"
	@echo "Jaeger     http://127.0.0.1:$(SAGA_PORTS)30"
	@echo "Mails      http://127.0.0.1:$(SAGA_PORTS)13"

compose-demo: compose-up $(INSTALLED) ## The same demo, against the containers
	@SAGA_ENV_FILE=$(COMPOSE_ENV) $(BIN)/orderctl demo

compose-down: ## Stop and remove the containers, keep the data
	@$(DOCKER_COMPOSE) --profile "*" down

compose-purge: ## Remove the containers with their data
	@$(DOCKER_COMPOSE) --profile "*" down --volumes && rm -rf $(dir $(COMPOSE_ENV))

# The campaigns have a stack of their own, so they run when the other one is down.
test: lint ## Lint, then all tests on a stack of its own ports, stopped at the end
	$(BIN)/pytest -m "not long" -n 2 --durations 40 \
	  tests/unit tests/property tests/contract tests/integration tests/saga
	$(BIN)/pytest -m "not long" tests/chaos

test-containers: $(INSTALLED) ## Tests of the system in containers (starts a Docker engine if none runs)
	TEST_GROUND=containers $(BIN)/pytest tests/containers tests/contract/test_registry.py \
	  tests/integration/test_roles.py tests/integration/infra/test_topics.py tests/integration/inventory

test-long: $(INSTALLED) ## The long repetitions of the tests
	$(BIN)/pytest -m long --ignore=tests/chaos --ignore=tests/containers
	$(BIN)/pytest -m long tests/chaos

lint: $(INSTALLED) ## Style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

lock: $(INSTALLED) ## Pin the newest versions that fit pyproject.toml into requirements.lock
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --all-extras \
	  --upgrade --no-header --no-annotate --quiet pyproject.toml --output-file requirements.lock

# uv, at a pinned version, because it installs the lock in seconds.
$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed (PYTHON=/path/to/python3 make ...)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
	  { echo "Python's venv module is missing (on Debian: apt install python3-venv)"; exit 1; }
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet "uv==$(UV_VERSION)"
	@echo "Installing what requirements.lock pins ..."
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
