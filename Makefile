# Commands of this project. Each sets up what it needs, prints its steps and their durations, and is quick if there is
# nothing to do. The code is in scripts/; `scripts/chore` finds a Python for it.

STACK ?= local
FOLDER ?=
ARGS ?=
FORCE ?=
UPGRADE ?=
VERSION ?=
PROJECT ?=
BUDGET ?=
LOCATION ?=
CLEAN ?=
export STACK FOLDER ARGS FORCE UPGRADE VERSION PROJECT BUDGET LOCATION CLEAN

.PHONY: help up preview down logs unlock test check format bench soak suites verify-google screenshots docs setup clean plugin tools policies lock generate descriptors version release

help:
	@echo 'make up           deploy the stack: bucket, package, distributed training job (on the emulator)'
	@echo 'make preview      show what `make up` would change, property by property'
	@echo 'make down         delete everything in the stack, and stop the emulator'
	@echo 'make logs         print the log of the stack'"'"'s job (ARGS=--follow: as it is written)'
	@echo 'make unlock       remove the lock of a killed `pulumi`, and end its processes'
	@echo
	@echo 'make test         run the tests, or some of them: make test ARGS="tests/vertex_training/topology -k chief"'
	@echo '                  what differs from the main branch: make test ARGS=--changed'
	@echo '                  the slow tests, which `make test` skips: make test ARGS="-m slow"'
	@echo 'make check        check format, lint, strict types and package dependencies'
	@echo 'make format       format the code for `make check`'
	@echo 'make bench        print the budget table with the figures of this machine'
	@echo 'make soak         kill processes at random points, deploy again, and compare (hours): make soak ARGS="--kills 50"'
	@echo 'make suites       run test suites of others against the emulator (10 minutes): make suites ARGS="--only gcsfs"'
	@echo 'make screenshots  take pictures of the dashboard, and compare their outlines (ARGS=--accept; ARGS=--docs: those in docs/)'
	@echo 'make docs         build the documentation site into .local/site and check it (ARGS=--serve: at http://127.0.0.1:8000)'
	@echo 'make verify-google   deploy to Google Cloud and compare: PROJECT=my-project BUDGET=3 (dollars), or ARGS=--rehearse'
	@echo
	@echo 'make setup        install the Python packages and the Pulumi CLI'
	@echo 'make clean        delete all that these commands have installed: .venv, .local, the cache (docs/get-started/install.md)'
	@echo 'make tools        install programs for the tests: skopeo, buildah, oras, regctl, crane, act, actionlint, Pulumi programs in YAML, Google'"'"'s clients, TensorFlow, PyTorch'
	@echo 'make plugin       install what Pulumi programs in YAML and other languages need, for `source ./activate`'
	@echo 'make policies     install the environment of the policy pack, policies/venv (docs/guides/cost/policies.md)'
	@echo 'make lock         write the lock files from pyproject.toml (UPGRADE=1: take newer versions)'
	@echo 'make generate     write argument classes, signatures and docs/reference/ from the code'
	@echo 'make descriptors  write the emulator'"'"'s copy of the API descriptions again'
	@echo 'make version      write a new version into the files that have it: make version VERSION=0.2.0'
	@echo 'make release      build the four distributions into dist/, check them, and try the template with them'
	@echo
	@echo 'Another stack:    make up STACK=dev (Google Cloud; see Pulumi.dev.yaml for its needs), staging or prod'
	@echo 'Its environment:  make up FOLDER=environment STACK=dev (accounts, bucket, network; see docs/guides/teams/environments.md)'
	@echo 'Manually:         source ./activate, then plain `pulumi`'

up preview down logs:
	@scripts/chore $@ --stack "$$STACK" --folder "$$FOLDER" --args="$$ARGS"

unlock:
	@scripts/chore $@ --stack "$$STACK" --folder "$$FOLDER" --force "$$FORCE"

test bench soak suites screenshots docs:
	@scripts/chore $@ --args="$$ARGS"

verify-google:
	@scripts/chore $@ --project "$$PROJECT" --budget "$$BUDGET" --location "$$LOCATION" --clean "$$CLEAN" --args="$$ARGS"

check format setup clean plugin tools policies generate descriptors release:
	@scripts/chore $@

lock:
	@scripts/chore $@ --upgrade "$$UPGRADE"

version:
	@scripts/chore $@ --version "$$VERSION"
