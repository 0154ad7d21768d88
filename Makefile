# The commands of this project. Each sets up what it needs, says what it does and how long it took, and is quick when
# there is nothing to do. The work is in scripts/; `scripts/chore` finds a Python to run it with.

STACK ?= local
ARGS ?=
FORCE ?=
UPGRADE ?=
VERSION ?=
export STACK ARGS FORCE UPGRADE VERSION

.PHONY: help up preview down logs unlock test check format bench soak setup tools lock descriptors release

help:
	@echo 'make up           deploy the stack: bucket, package, distributed training job (on the emulator)'
	@echo 'make preview      show what `make up` would change, property by property'
	@echo 'make down         remove everything that the stack has made, and stop the emulator'
	@echo 'make logs         print what the job of the stack printed (ARGS=--follow: as it comes)'
	@echo 'make unlock       take back the lock of a killed `make up`, and end what it left running'
	@echo
	@echo 'make test         run the tests; some of them: make test ARGS="tests/topology -k chief"'
	@echo '                  the slow ones, which `make test` leaves out: make test ARGS="-m slow"'
	@echo 'make check        format, lint, strict types, the dependencies between the packages'
	@echo 'make format       rewrite the code as `make check` wants it'
	@echo 'make bench        print the budget table with the figures of this machine'
	@echo 'make soak         random histories of jobs on the real engine (minutes): make soak ARGS="--sequences 50"'
	@echo
	@echo 'make setup        set up only: Python packages and the Pulumi CLI'
	@echo 'make tools        install programs that tests drive: skopeo, buildah, oras, regctl'
	@echo 'make lock         write the lock files from pyproject.toml (UPGRADE=1: with newer versions)'
	@echo 'make descriptors  write the emulator'"'"'s copy of the API descriptions anew'
	@echo 'make release      write a new version into the files that hold it: make release VERSION=0.2.0'
	@echo
	@echo 'Another stack:    make up STACK=vertex (Google Cloud; Pulumi.vertex.yaml says what it needs)'
	@echo 'By hand:          source ./activate, then plain `pulumi`'

up preview down logs:
	@scripts/chore $@ --stack "$$STACK" --args="$$ARGS"

unlock:
	@scripts/chore $@ --stack "$$STACK" --force "$$FORCE"

test bench soak:
	@scripts/chore $@ --args="$$ARGS"

check format setup tools descriptors:
	@scripts/chore $@

lock:
	@scripts/chore $@ --upgrade "$$UPGRADE"

release:
	@scripts/chore $@ --version "$$VERSION"
