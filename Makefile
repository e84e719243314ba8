# One verb per habit; each is also a plain command for those without make.
PYTHON = .venv/bin/python

.PHONY: setup test lint bench docs
setup:
	bash setup/setup.sh
test:
	bash setup/test.sh
lint:
	$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && $(PYTHON) -m mypy
bench:
	$(PYTHON) support_scripts/bench.py
docs:
	$(PYTHON) support_scripts/make_docs.py
