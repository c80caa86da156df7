# make serve and make test set up everything they need; the rest is for developers.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := $(VENV)/.native
# Programs run as they do for anybody: what a shell sets for Python, as PYTHONPATH, is not for them.
$(foreach name,$(filter-out PYTHON,$(filter PYTHON%,$(.VARIABLES))),$(eval unexport $(name)))
# Where the repository is, as a release and the site name it; on GitHub its workflows know.
export REPOSITORY_URL ?= $(if $(GITHUB_REPOSITORY),$(GITHUB_SERVER_URL)/$(GITHUB_REPOSITORY))
PIP_FLAGS ?= --quiet --disable-pip-version-check

.PHONY: help serve quick test test-plain test-core test-service test-client test-turns test-gateways test-commands check lint types unit coverage test-newest test-integration test-nightly nightly attacks callers image load soak scale scale-out deploy-check drills lock pin-base pin-images sbom sbom-image audit bench board eval evals agent-eval mcp-tokens prompt-cost conformance openapi docs site dist release-check clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

LOCKS := deploy/locks
LOCKED_EXTRAS := server redis postgres mcp otel encoder trust
$(STAMP): pyproject.toml $(LOCKS)/build.txt $(LOCKS)/server.txt
	@echo "Installing the service into $(VENV); this takes a minute or two, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_FLAGS) --require-hashes --no-deps -r $(LOCKS)/build.txt -r $(LOCKS)/server.txt
	$(BIN)/pip install $(PIP_FLAGS) --no-deps --no-build-isolation -e '.[server]'
	@touch $@

$(VENV)/.tested: $(STAMP) | $(NATIVE)
	@echo "Installing what the tests need into $(VENV); this takes a minute or two, once."
	$(BIN)/pip install $(PIP_FLAGS) -e '.[server,test,site]'
	@touch $@

# Compiles the native part of the ranking again where its source has changed; without a compiler
# Python ranks, and a line says so.
$(NATIVE): $(STAMP) hatch_build.py $(wildcard service/toolscout/ranking/native/*.[ch])
	@$(BIN)/python hatch_build.py
	@touch $@

serve: $(NATIVE) ## run the service on http://127.0.0.1:8080
	$(BIN)/toolscout serve

# Suites whose tests start no program.
QUICK ?= $(addprefix tests/,contract learning metatools ranking text tools)
quick: check ## the fast way while a line is changed: style, types, and the tests of contract and ranking
	$(BIN)/pytest -q -m 'not integration' $(QUICK)

# The tests of one product of docs/architecture.md.
OF_core := index learning metatools ranking text tools test_engine.py
OF_service := contract server state external deploy test_settings.py
OF_client := client
OF_turns := turns
OF_gateways := gateway
OF_commands := evaluation test_cli.py test_cli_search.py test_completion.py test_terminal.py test_watch.py
test-core test-service test-client test-turns test-gateways test-commands: test-%: $(VENV)/.tested
	$(BIN)/pytest -q -m 'not integration' --numprocesses $(WORKERS) --dist loadfile $(addprefix tests/,$(OF_$*))

test: check unit test-plain ## lint, types and tests

# The ranking by Python alone, which the other tests rank natively where a compiler is there.
PLAIN := $(addprefix tests/,text index ranking learning test_engine.py)
test-plain: $(VENV)/.tested ## the tests of the ranking without its compiled part
	TOOLSCOUT_NATIVE=off $(BIN)/pytest -q -m 'not integration' --numprocesses $(WORKERS) --dist loadfile $(PLAIN)

check: lint types ## lint and types

lint: $(VENV)/.tested ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested ## mypy, strict
	$(BIN)/mypy

# Each worker imports all tests, which takes it nine seconds.
WORKERS ?= $(shell cores=$$(nproc 2>/dev/null || echo 2); echo $$((cores < 4 ? cores : 4)))

unit: $(VENV)/.tested ## tests
	$(BIN)/pytest -m 'not integration' --numprocesses $(WORKERS) --dist loadfile

coverage: $(VENV)/.tested ## which lines and branches the unit tests run, processes that they start included
	$(BIN)/pip install $(PIP_FLAGS) 'coverage>=7.10,<8'
	$(BIN)/coverage run -m pytest -m 'not integration' -q --numprocesses auto --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --sort=cover --skip-covered

attacks: $(VENV)/.tested ## replay attacks: stalls, memory, a second tenant (TOOLSCOUT_DATA as for bench)
	$(BIN)/python -m tests.attacks

# Seconds until a test that installs programs or measures for minutes counts as hung.
PATIENT := --timeout 3600

NEWEST := .venv-newest
test-newest: ## the unit tests with the newest release of every dependency, whatever pyproject.toml allows
	$(MAKE) VENV=$(NEWEST) $(NEWEST)/.tested
	$(NEWEST)/bin/python -m tests.newest
	$(NEWEST)/bin/pytest -m 'not integration' --numprocesses $(WORKERS) --dist loadfile

$(VENV)/.loaded: $(VENV)/.tested
	@echo "Installing what the integration tests need into $(VENV); this takes a minute or two, once."
	$(BIN)/pip install $(PIP_FLAGS) -e '.[server,test,site,load]'
	@touch $@

test-integration: $(VENV)/.loaded ## tests that need minutes or real peers, but for those of test-nightly
	$(BIN)/pytest $(PATIENT) -m 'integration and not nightly and not alone' --numprocesses 2 --dist loadfile
	$(BIN)/pytest $(PATIENT) -m 'integration and not nightly and alone'

test-nightly: $(VENV)/.loaded ## the longest tests, more than a minute each
	$(BIN)/pytest $(PATIENT) -m nightly

nightly: $(VENV)/.loaded ## attacks, fuzz (FUZZ_S=1200), use with kills (SOAK_S=900), stores, advisories; FUZZ_SEED repeats
	$(BIN)/python -m tests.nightly $(NIGHTLY)

callers: $(VENV)/.tested ## every caller through every case; the table in docs/cookbook/README.md
	$(BIN)/python -m tests.callers --docs docs/cookbook/README.md

load: $(VENV)/.loaded ## load from locust users, with a verdict; report in loadtests/results
	$(BIN)/python -m loadtests

SOAK_S ?= 3600
soak: $(VENV)/.loaded ## the same load for an hour (SOAK_S seconds), watched for growth
	$(BIN)/python -m loadtests --soak --seconds $(SOAK_S)

scale: $(VENV)/.loaded ## how far it goes: two processes, memory a tool, long lists; DATABASE a PostgreSQL URL (TOOLSCOUT_DATA)
	$(BIN)/python -m loadtests.scaleout --processes 1 2 --connections 64
	$(BIN)/python -m evals.speed --many
	$(BIN)/python -m evals.speed --large
	$(if $(DATABASE),$(BIN)/python -m evals.speed --database $(DATABASE))

scale-out: $(VENV)/.loaded ## throughput and cache hits of 1, 2 and 4 processes behind HAProxy
	$(BIN)/python -m loadtests.scaleout

image: $(VENV)/.tested ## lint, build and run the container image without a registry (root on Debian)
	$(BIN)/pytest $(PATIENT) -m integration -s tests/integration/test_image.py

deploy-check: $(VENV)/.tested ## have what lies in deploy/ checked by the programs it is for (Debian)
	$(BIN)/pytest $(PATIENT) -m integration -s tests/integration/test_deploy.py tests/integration/test_helm.py

drills: $(VENV)/.loaded ## replicas die, restart and are stopped, stores go back to older copies (Debian)
	$(BIN)/pytest $(PATIENT) -m integration -s tests/integration/test_drills.py tests/integration/test_restored_copies.py

$(VENV)/.locking:
	$(PYTHON) -m venv $(VENV)/locking
	$(VENV)/locking/bin/pip install $(PIP_FLAGS) 'uv>=0.9,<1'
	@touch $@

# What packages ask for and serving never imports: data for tests, a downloader, colours. A lock without
# them is installed with --no-deps.
NOT_SHIPPED := faker hf-xet jinja2 litestar-htmx markdown-it-py markupsafe mdurl polyfactory pygments \
  python-dotenv rich rich-click websockets

# All extras are resolved together first, so that any of their locks can be installed beside another.
COMPILE = $(VENV)/locking/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
  --generate-hashes --no-annotate --custom-compile-command 'make lock'
lock: $(VENV)/.locking ## choose the newest packages for make serve and the image, by version and hash
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "editables", sep="\n")' \
	  | $(COMPILE) - --output-file $(LOCKS)/build.txt
	$(COMPILE) $(LOCKED_EXTRAS:%=--extra %) pyproject.toml --output-file $(VENV)/all.txt
	for extra in $(LOCKED_EXTRAS); do \
	  $(COMPILE) --constraint $(VENV)/all.txt --extra $$extra pyproject.toml --output-file $(LOCKS)/$$extra.txt \
	    $$(test $$extra != server || printf -- '--no-emit-package %s ' $(NOT_SHIPPED)) || exit; \
	done

# What a server install consists of, apart from what developers have.
$(VENV)/.shipped: pyproject.toml $(LOCKS)/server.txt $(LOCKS)/redis.txt $(LOCKS)/trust.txt
	$(PYTHON) -m venv $(VENV)/shipped
	$(VENV)/shipped/bin/pip install $(PIP_FLAGS) --require-hashes --no-deps -r $(LOCKS)/server.txt -r $(LOCKS)/redis.txt
	$(VENV)/shipped/bin/pip install $(PIP_FLAGS) --no-deps .
	$(VENV)/shipped/bin/pip uninstall --quiet --yes pip setuptools
	$(PYTHON) -m venv $(VENV)/trust
	$(VENV)/trust/bin/pip install $(PIP_FLAGS) --require-hashes -r $(LOCKS)/trust.txt
	@touch $@

DIST ?= dist
sbom: $(VENV)/.shipped ## write dist/sbom.cdx.json, the packages of a server install (CycloneDX)
	@mkdir -p $(DIST)
	$(VENV)/trust/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file $(DIST)/sbom.cdx.json $(VENV)/shipped/bin/python

DOCKER ?= docker
sbom-image: ## write dist/sbom.cdx.json, what the image consists of, base and all (Docker)
	$(DOCKER) build --target sbom --output dist .

pin-base: ## write the digest behind the base's tag into the Dockerfile (skopeo; a registry in reach)
	@base=$$(sed -nE 's/^ARG BASE=([^@]*).*/\1/p' Dockerfile) \
	  && digest=$$(skopeo inspect $(SKOPEO_FLAGS) --no-tags --format '{{.Digest}}' "docker://$$base") \
	  && sed -i "s|^ARG BASE=.*|ARG BASE=$$base@$$digest|" Dockerfile && grep '^ARG BASE=' Dockerfile

# The service's own image has a digest only after it was pushed: TOOLSCOUT_IMAGE=registry.example.org/toolscout:0.1.0
pin-images: ## write deploy/.env: the images of Compose by tag (GRAFANA_IMAGE=… for another) and digest (skopeo)
	@set -e; pinned=; \
	for image in $$(sed -nE 's/^ +image: \$$\{([A-Z_]+):-([^}]+)\}$$/\1=\2/p' deploy/compose.yaml); do \
	  name=$${image%%=*}; image=$$(printenv "$$name" || echo "$${image#*=}"); image=$${image%@*}; \
	  case "$$image" in toolscout:*) continue;; esac; \
	  digest=$$(skopeo inspect $(SKOPEO_FLAGS) --no-tags --format '{{.Digest}}' "docker://$$image"); \
	  pinned="$$pinned$$name=$$image@$$digest\n"; \
	done; printf "$$pinned" | tee deploy/.env

audit: $(VENV)/.shipped ## ask PyPI for known vulnerabilities of a server install's packages (AUDIT_MAY_SKIP=1 offline)
	@if curl -fsS -m 10 -o /dev/null https://pypi.org/pypi/pip/24.0/json; then \
	  $(VENV)/trust/bin/pip-audit --skip-editable --path $(VENV)/shipped/lib/python3*/site-packages; \
	else \
	  echo 'the advisory service at https://pypi.org does not answer'; test -n "$(AUDIT_MAY_SKIP)"; \
	fi

bench: $(NATIVE) ## the speed table (TOOLSCOUT_DATA names the folder with catalogs/; AGAINST a commit)
	$(BIN)/python -m evals.speed $(if $(AGAINST),--against $(AGAINST))

$(VENV)/.evaluated: $(STAMP)
	$(BIN)/pip install $(PIP_FLAGS) -e '.[server,evals]'
	@touch $@

evals: $(VENV)/.evaluated ## the accuracy tables in docs/ranking.md (TOOLSCOUT_DATA as above)
	$(BIN)/python -m evals --docs docs/ranking.md
	$(BIN)/python -m evals --stages --docs docs/ranking.md
	$(BIN)/python -m evals --outcomes --docs docs/ranking.md
	$(BIN)/python -m evals --learning --docs docs/learning.md

eval: evals ## the same

# Each peer alone: one that does not install is missing from the board, which says so.
$(VENV)/.boarded: $(STAMP) evals/board/peers.txt
	@echo "Installing the peers into $(VENV); MiniLM brings PyTorch, several gigabytes."
	$(BIN)/pip install $(PIP_FLAGS) -e '.[server]' 'tqdm>=4.66,<5'
	@while read peer; do \
	  $(BIN)/pip install $(PIP_FLAGS) "$$peer" || echo "$$peer does not install"; \
	done < evals/board/peers.txt
	@touch $@

board: $(VENV)/.boarded ## selectors side by side: docs/board.md and board.json, in 20 minutes (TOOLSCOUT_DATA)
	$(BIN)/python -m evals.board --docs docs/board.md --json docs/board.json

# ARGS takes the other flags, such as --tools tools.json --questions questions.csv --limit 20.
agent-eval: $(STAMP) ## ask a real model with all, the selected and the wanted tools (BASE_URL, MODEL, OPENAI_API_KEY)
	@test -n "$(BASE_URL)" -a -n "$(MODEL)" \
	  || { echo 'make agent-eval BASE_URL=https://api.openai.com/v1 MODEL=NAME'; exit 2; }
	$(BIN)/python -m evals.agent --base-url '$(BASE_URL)' --model '$(MODEL)' $(ARGS)

mcp-tokens: $(VENV)/.tested ## the table in docs/mcp.md: twelve tasks over nine published servers, and twelve others (npm, PyPI)
	$(BIN)/python -m evals.mcp_tokens --docs docs/mcp.md

prompt-cost: $(VENV)/.tested ## what a conversation costs by the way tools are shown; the table in docs/client.md (TOOLSCOUT_DATA)
	$(BIN)/python -m evals.prompt_cost --docs docs/client.md $(addprefix --litellm ,$(wildcard .venv-litellm/bin/litellm))

conformance: $(VENV)/.tested ## ask this engine what selectors get wrong, and the service whether it keeps the contract
	$(BIN)/python -m evals.conformance --engine --serve

openapi: $(STAMP) ## write openapi.yaml anew
	$(BIN)/toolscout openapi > openapi.yaml

docs: $(STAMP) ## write the reference pages in docs/ anew
	$(BIN)/python -m docs.generate

site: $(VENV)/.tested ## build the documentation site in build/site; SITE_URL is its address, with / at the end
	$(BIN)/python -m docs.generate.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(VENV)/.tested sbom ## build a release in dist/: wheel, source, sbom.cdx.json and SHA256SUMS
	rm -f $(DIST)/*.whl $(DIST)/*.tar.gz
	TOOLSCOUT_NATIVE=off $(BIN)/python -m build --outdir $(DIST)
	cd $(DIST) && sha256sum *.whl *.tar.gz sbom.cdx.json > SHA256SUMS

# All of a release that needs no registry. TAG is that of the release; without one it is the package's version.
release-check: dist ## build a release, install it with each extra, serve, ask it, and read its metadata and notes
	@test -z '$(TAG)' -o -n '$(REPOSITORY_URL)' || { echo 'its page links to the repository: REPOSITORY_URL=https://…'; exit 2; }
	$(BIN)/pip install $(PIP_FLAGS) 'twine>=6,<8'
	$(BIN)/twine check --strict $(DIST)/*.whl $(DIST)/*.tar.gz
	$(BIN)/python -m tests.package_page $(DIST)/*.whl $(DIST)/*.tar.gz
	$(BIN)/python -m tests.release_notes --tag '$(TAG)' > $(DIST)/NOTES.md
	$(BIN)/pytest $(PATIENT) -m integration tests/integration/test_package.py tests/integration/test_fresh_install.py

clean: ## remove the environment and caches
	rm -rf $(VENV) $(NEWEST) .venv-litellm .venv-frameworks .venv-mcp .venv-mcp-nine .venv-agents .venv-node .venv-hook .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
