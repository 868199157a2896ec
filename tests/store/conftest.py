"""A real shop on a real file for every test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

import store


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def file(seed_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(seed_file, tmp_path / "shop.db"))


@pytest.fixture
def shop(file: Path) -> Iterator[Engine]:
    engine = store.open_shop(url_of(file))
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def library(seed_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A shop that tests only read."""
    engine = store.open_shop(url_of(Path(shutil.copy(seed_file, tmp_path_factory.mktemp("library") / "shop.db"))))
    yield engine
    engine.dispose()
